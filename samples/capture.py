#!/usr/bin/env python3
"""Capture a model of yours for Fusewright: python3 capture.py MODULE:FACTORY OUT.pt2

FACTORY is a function without arguments that returns (model, example_inputs). Example, in my_model.py:

    import torch
    def make():
        return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU()), (torch.randn(4, 8),)

    $ python3 capture.py my_model:make my_model.pt2 --io

--io also writes io.safetensors beside OUT.pt2 (inputs, and outputs that PyTorch computed), so that every run can be checked.
--dynamic 0:0 makes dimension 0 of input 0 symbolic; may be repeated.
--no-weights leaves weights over 16 KiB out; Fusewright then uses synthetic ones.
"""
import argparse
import importlib
import json
import os
import struct
import sys


def write_safetensors(path, tensors):
    import torch
    names = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
             torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        t = t.detach().cpu().contiguous()
        data = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        header[name] = {"dtype": names[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        blobs.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)))
        f.write(text)
        for b in blobs:
            f.write(b)


def main():
    parser = argparse.ArgumentParser(description="capture a PyTorch model as a .pt2 archive")
    parser.add_argument("factory", help="module:function that returns (model, example_inputs)")
    parser.add_argument("out")
    parser.add_argument("--io", action="store_true", help="write io.safetensors with inputs and outputs")
    parser.add_argument("--dynamic", action="append", default=[], metavar="INPUT:DIM")
    parser.add_argument("--no-weights", action="store_true")
    args = parser.parse_args()
    import torch
    sys.path.insert(0, os.getcwd())
    module, _, function = args.factory.partition(":")
    model, inputs = getattr(importlib.import_module(module), function)()
    model.eval()
    shapes = None
    if args.dynamic:
        shapes = [{} for _ in inputs]
        for spec in args.dynamic:
            i, d = (int(x) for x in spec.split(":"))
            shapes[i][d] = torch.export.Dim.AUTO
        shapes = tuple(shapes)
    program = torch.export.export(model, tuple(inputs), dynamic_shapes=shapes)
    torch.export.save(program, args.out)
    if args.io:
        with torch.no_grad():
            result = model(*inputs)
        flat = torch.utils._pytree.tree_leaves(result)
        tensors = {f"input.{i}": t for i, t in enumerate(inputs)}
        tensors.update({f"output.{i}": t for i, t in enumerate(flat) if isinstance(t, torch.Tensor)})
        write_safetensors(os.path.join(os.path.dirname(os.path.abspath(args.out)), "io.safetensors"), tensors)
    if args.no_weights:
        leave_weights_out(args.out)
    print(f"{args.out}: {len(program.graph.nodes)} nodes")


def leave_weights_out(path):
    """Rewrites the archive with empty payloads for weights over 16 KiB."""
    import zipfile
    with zipfile.ZipFile(path) as old:
        entries = [(i, old.read(i.filename)) for i in old.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as new:
        for info, data in entries:
            heavy = "/data/weights/weight_" in info.filename and len(data) > 16384
            new.writestr(info.filename, b"" if heavy else data)


if __name__ == "__main__":
    main()
