#!/usr/bin/env python3
"""Prints "name label path" for every test program that CMake registered in the build folder."""
import json
import subprocess
import sys

text = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
for test in json.loads(text)["tests"]:
    labels = [p["value"][0] for p in test["properties"] if p["name"] == "LABELS"]
    print(test["name"], labels[0] if labels else "unit", test["command"][0])
