#!/usr/bin/env python3
"""Rules of the repository: arrows between folders, file sizes, folder maps, one name per pass, reasons in use. Prints ok / not ok per rule."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
failed = 0


def report(name, problems):
    global failed
    if problems:
        failed += 1
        print(f"not ok {name}: " + "; ".join(problems[:10]) + (f" and {len(problems) - 10} more" if len(problems) > 10 else ""))
    else:
        print(f"ok {name}")


def tracked():
    out = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    names = out.stdout.split("\n") if out.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return [n for n in names if n and not n.startswith("build/") and (root / n).is_file()]


files = tracked()
sources = [f for f in files if f.endswith((".h", ".cpp", ".def"))]
text = {f: (root / f).read_text(errors="replace") for f in sources}

# May a file of the first folder include a header of the second?
allowed = {"core": {"core"}, "passes": {"core", "passes"}, "gpu": {"core", "gpu"}, "views": {"core", "views"}, "app": {"core", "passes", "gpu", "views", "app"}}
bad = []
for f in sources:
    top = f.split("/")[0]
    if top not in allowed:
        continue
    for line in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text[f], re.M):
        target = line.split("/")[0]
        if target in allowed and "/" in line and target not in allowed[top]:
            bad.append(f"{f} includes {line}")
        if top in ("core", "passes", "gpu") and re.match(r"Q[A-Z]\w+$|Qt\w*/", line):
            bad.append(f"{f} includes Qt ({line})")
        if line.startswith("llvm/") and not f.startswith(("core/cpu/", "gpu/")):
            bad.append(f"{f} includes LLVM ({line})")
        if re.match(r"(cuda|nvrtc)[\w]*\.h$", line):
            bad.append(f"{f} includes CUDA ({line})")
report("include arrows", bad)

report("files stay under 800 lines", [f"{f} has {text[f].count(chr(10))} lines" for f in sources if text[f].count("\n") > 800])

report("every file opens with what it is for",
       [f for f in sources if not re.match(r"(#pragma once\s*)?//", text[f].lstrip())])

maps = [d for d in ("core", "passes", "gpu", "views", "app", "samples", "tests") if not (root / d / "README.md").exists()]
for d in sorted({str(pathlib.PurePath(f).parent) for f in sources if f.startswith("core/")}):
    if not (root / d / "README.md").exists():
        maps.append(d)
report("every folder has its map", maps)

passes = re.findall(r"^FW_PASS\((\w+)\)", text.get("passes/all.def", ""), re.M)
bad = []
for p in passes:
    homes = [f for f in sources if f.startswith("passes/") and f.endswith(f"/{p}.cpp")]
    if len(homes) != 1:
        bad.append(f"{p} has {len(homes)} files")
        continue
    if f"pass_{p}{{" not in text[homes[0]]:
        bad.append(f"{homes[0]} does not define pass_{p}")
    if f'.name = "{p}"' not in text[homes[0]]:
        bad.append(f"{homes[0]} gives its pass another name")
    if not re.search(r"before|becomes", text[homes[0]].split("#include")[0], re.I):
        bad.append(f"{homes[0]} shows no IR before and after in its header comment")
    if not any(re.search(rf"/{p}\.(gir|lir)$", f) for f in files if f.startswith("tests/ir/")):
        bad.append(f"{p} has no text test tests/ir/*/{p}.gir|.lir")
report("one name and one text test per pass", bad)

reasons = re.findall(r"^FW_REASON\((\w+),", text.get("core/pipeline/reasons.def", ""), re.M)
used = "\n".join(t for f, t in text.items() if not f.endswith("reasons.def"))
report("every reason is used", [r for r in reasons if f"Reason::{r}" not in used])

words = re.compile(r"/work/|/root/|\bsubagent|\bChatGPT|\bClaude\b", re.I)
bad = []
for f in files:
    if f.startswith("samples/captures") or f == "tests/repo/rules_test.py" or not f.endswith((".h", ".cpp", ".def", ".py", ".md", ".txt", ".sh", ".gir", ".lir", "run")):
        continue
    if words.search((root / f).read_text(errors="replace")):
        bad.append(f)
report("no machine paths", bad)

report("no vague file names", [f for f in sources if re.search(r"(^|[/_])(utils?|helpers?|managers?|misc|commons?)\.(h|cpp)$", f) and not f.endswith("/eliminate_common.cpp")])
sys.exit(1 if failed else 0)
