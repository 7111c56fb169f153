#!/usr/bin/env python3
"""Every command of fusewright-cli as a user calls it: on the samples, and with bad input. Prints ok / not ok / left out per case."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build/release")
cli = build / "app/fusewright-cli"
samples = root / "samples/captures"
shared = root.parent / "shared"
failed = 0


def run(*args, timeout=300):
    p = subprocess.run([str(cli), *map(str, args)], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def case(name, check):
    global failed
    try:
        why = check()
    except Exception as e:  # a crash of the check itself is a failure, with its reason
        why = f"{type(e).__name__}: {e}"
    if why:
        failed += 1
        print(f"not ok {name}: {why}")
    else:
        print(f"ok {name}")
    sys.stdout.flush()


def sample(name):
    return samples / name / f"{name}.pt2"


def expect(code, out, err, want=0, has=(), err_has=()):
    if code != want:
        return f"exit {code} instead of {want}: {(err or out)[-300:]}"
    for h in has:
        if h not in out:
            return f"'{h}' is not in the output: {out[-300:]}"
    for h in err_has:
        if h not in err:
            return f"'{h}' is not in the error: {err[-300:]}"
    return None


def one_clear_line(code, out, err, want, names):
    lines = [l for l in err.splitlines() if l and not l.startswith("note:")]
    if code != want:
        return f"exit {code} instead of {want}: {err[-300:]}"
    if len(lines) != 1:
        return f"{len(lines)} lines on stderr instead of one: {err[-300:]}"
    for n in names:
        if n not in lines[0]:
            return f"'{n}' is not in: {lines[0]}"
    return None


chain = sample("pointwise_chain")
case("tour", lambda: expect(*run("tour", chain), has=["Steps", "verified", "eager", "compiled", "lower_to_loops", "fuse_pointwise"]))
case("steps", lambda: expect(*run("steps", chain), has=["decompose", "lower_to_loops", "vectorize_inner"]))


def steps_json():
    code, out, err = run("steps", chain, "--json")
    steps = json.loads(out)
    names = [s["name"] for s in steps]
    if code or "fuse_pointwise" not in names:
        return f"exit {code}, steps {names}"
    if not any(d["sentence"] for s in steps for d in s["decisions"]):
        return "no decision has a sentence"


case("steps --json", steps_json)
case("steps --llvm", lambda: expect(*run("steps", chain, "--llvm"), has=["llvm:"]))
case("diff of fuse_pointwise", lambda: expect(*run("diff", chain, "--step", "fuse_pointwise"), has=["--- before", "+++ after", "kernel"]))
case("diff of an unknown step", lambda: one_clear_line(*run("diff", chain, "--step", "nonsense"), 2, ["nonsense", "lower_to_loops"]))
case("explain the list", lambda: expect(*run("explain", sample("attention")), has=["library call"]))
case("explain a pair", lambda: expect(*run("explain", sample("softmax_rows"), "mul", "softmax"), has=["one kernel"]))
case("explain an unknown name", lambda: one_clear_line(*run("explain", sample("softmax_rows"), "mul", "nonsense"), 2, ["nonsense"]))
for level, word in (("graph", "torch.ops.aten"), ("loops", "kernel"), ("cpp", "extern \"C\""), ("llvm", "define"), ("asm", "ret")):
    case(f"show --level {level}", lambda level=level, word=word: expect(*run("show", chain, "--level", level), has=[word]))
for mode in ("reference", "eager", "compiled"):
    case(f"run --mode {mode}", lambda mode=mode: expect(*run("run", chain, "--mode", mode), has=["output.0", "0 fallbacks"]))
case("run --mode cuda says it is not there", lambda: one_clear_line(*run("run", chain, "--mode", "cuda"), 2, ["cuda", "not there yet"]))
case("run --mode simt says it is not there", lambda: one_clear_line(*run("run", chain, "--mode", "simt"), 2, ["simt", "not there yet"]))
case("run an op nobody knows", lambda: one_clear_line(*run("run", sample("custom_op")), 2, ["demo.mystery_scale"]))
case("run cond compiled", lambda: one_clear_line(*run("run", sample("cond_branch")), 2, ["cond"]))
case("run while_loop compiled", lambda: one_clear_line(*run("run", sample("while_power")), 2, ["while_loop"]))
case("steps of an op nobody knows", lambda: expect(*run("steps", sample("custom_op")), has=["import"]))


def profile_json():
    code, out, err = run("profile", sample("layernorm_gelu"), "--window", "0.05", "--json", "-")
    if code:
        return f"exit {code}: {err}"
    j = json.loads(out)
    for key in ("eager_ms", "compiled_ms", "compile_s", "kernels", "threads", "peak_bytes_eager", "peak_bytes_compiled", "verified"):
        if key not in j:
            return f"no {key}"
    if not j["verified"] or j["eager_ms"] <= 0 or j["compiled_ms"] <= 0:
        return str({k: j[k] for k in ("verified", "eager_ms", "compiled_ms")})


case("profile --json -", profile_json)
for name in ("pointwise_chain", "softmax_rows", "layernorm_gelu", "rmsnorm_rope"):
    def one_kernel(name=name):
        code, out, err = run("profile", sample(name), "--window", "0.02", "--json", "-")
        kernels = json.loads(out)["kernels"]
        return None if code == 0 and kernels == 1 else f"exit {code}, {kernels} kernels"
    case(f"{name} is one kernel", one_kernel)
for name in ("mlp", "attention", "quant8", "bf16_block", "conv_bn_relu"):
    def not_more(name=name):
        code, out, err = run("profile", sample(name), "--window", "0.02", "--json", "-")
        kernels = json.loads(out)["kernels"]
        inductor = json.loads((samples / name / "inductor/summary.json").read_text())["kernel_launches"]
        return None if code == 0 and kernels <= inductor else f"exit {code}, {kernels} kernels, Inductor launches {inductor}"
    case(f"{name} has no more kernels than Inductor", not_more)


def export_compiles(target, suffix):
    folder = tempfile.mkdtemp()
    try:
        code, out, err = run("export", sample("layernorm_gelu"), "--to", folder + "/out", "--target", target)
        if code:
            return f"exit {code}: {err}"
        kernels = list(pathlib.Path(folder, "out").glob("*" + suffix))
        if not kernels or not pathlib.Path(folder, "out/manifest.json").exists():
            return f"no {suffix} file or no manifest"
        if suffix == ".cpp":
            for k in kernels:
                p = subprocess.run(["g++", "-std=c++17", "-fopenmp", "-Wall", "-Wextra", "-Werror", "-O1", "-c", str(k), "-o", folder + "/k.o"], capture_output=True, text=True)
                if p.returncode:
                    return p.stderr[:300]
    finally:
        shutil.rmtree(folder)


case("export --target cpu compiles on its own", lambda: export_compiles("cpu", ".cpp"))
case("export to an unknown target", lambda: one_clear_line(*run("export", chain, "--to", tempfile.gettempdir() + "/fw-none", "--target", "tpu"), 2, ["tpu"]))
case("bisect finds nothing in a right pipeline", lambda: expect(*run("bisect", sample("softmax_rows")), has=["no step changes a value"]))
case("check one capture", lambda: expect(*run("check", samples / "softmax_rows"), has=["1 passed, 0 failed"]))
refused = {"cond_branch", "while_power", "custom_op"}
for mode in ("reference", "eager", "compiled"):
    def all_small(mode=mode):
        bad = []
        for folder in sorted(samples.iterdir()):
            if folder.name in refused:
                continue
            code, out, err = run("check", folder, "--mode", mode)
            if code or not out.rstrip().endswith("1 passed, 0 failed"):
                bad.append(f"{folder.name}: {(out + err).strip()[-160:]}")
        return "; ".join(bad)
    case(f"all small captures pass in mode {mode}", all_small)

# bad input
tmp = pathlib.Path(tempfile.mkdtemp())
(tmp / "empty.pt2").write_bytes(b"")
(tmp / "garbage.pt2").write_bytes(os.urandom(4096))
(tmp / "truncated.pt2").write_bytes(chain.read_bytes()[:2000])
(tmp / "text.py").write_text("class G(torch.nn.Module):\n    def forward(self, x):\n        y = torch.ops.aten.relu.default(\n")
for name in ("empty.pt2", "garbage.pt2", "truncated.pt2", "text.py", "absent.pt2"):
    case(f"steps {name}", lambda name=name: one_clear_line(*run("steps", tmp / name), 2, [name]))
(tmp / "lie.py").write_text('class G(torch.nn.Module):\n    def forward(self, x: "f32[3, 4]"):\n        a: "f32[1000000, 4]" = torch.ops.aten.relu.default(x)\n        return (a,)\n')
case("an annotation that the op contradicts", lambda: one_clear_line(*run("run", tmp / "lie.py"), 2, ["relu", "f32[1000000, 4]"]))
(tmp / "gather.py").write_text('class G(torch.nn.Module):\n    def forward(self, x: "f32[3, 4]"):\n        i: "i64[2]" = torch.ops.aten.full.default([2], 100000000, dtype = torch.int64)\n        a: "f32[2, 4]" = torch.ops.aten.index.Tensor(x, [i])\n        return (a,)\n')
case("an index outside its dimension never leaves the buffer", lambda: None if run("run", tmp / "gather.py")[0] in (0, 2) else "crashed")
case("a pass option that is no number", lambda: one_clear_line(*run("steps", chain, "-O", "fuse_reduction.max_fusion_size=abc"), 2, ["max_fusion_size", "whole number"]))
case("lowering cannot be switched off", lambda: one_clear_line(*run("steps", chain, "-O", "lower_to_loops=off"), 2, ["lower_to_loops"]))
case("bisect a graph with an extern op", lambda: expect(*run("bisect", sample("dlrm")), has=["no step changes a value"]))
case("a folder instead of a file", lambda: one_clear_line(*run("steps", tmp), 2, [str(tmp)]))
case("no command", lambda: expect(*run(), want=2))
case("unknown option", lambda: one_clear_line(*run("steps", chain, "--nonsense"), 2, ["--nonsense"]))
case("unknown pass in -O", lambda: one_clear_line(*run("steps", chain, "-O", "fuse_everything=off"), 2, ["fuse_everything", "fuse_pointwise"]))
case("threads 0", lambda: one_clear_line(*run("run", chain, "--threads", "0"), 2, ["threads"]))
case("a pass switched off still runs right", lambda: expect(*run("tour", sample("layernorm_gelu"), "-O", "fuse_reduction=off"), has=["switched off", "verified"]))
case("forbidding a fusion", lambda: expect(*run("steps", sample("softmax_rows"), "-O", "fuse_reduction.forbid=op1+op2", "--decisions", "99"), has=["you forbade this fusion"]))
case("help", lambda: expect(*run("--help"), has=["tour", "explain"]))

# x = x + x, a hundred times: sharing must not expand
lines = ["class G(torch.nn.Module):", '    def forward(self, x: "f32[4]"):']
name = "x"
for i in range(100):
    lines.append(f'        a{i}: "f32[4]" = torch.ops.aten.add.Tensor({name}, {name})')
    name = f"a{i}"
lines.append(f"        return ({name},)")
(tmp / "doubling.py").write_text("\n".join(lines) + "\n")
case("x = x + x a hundred times", lambda: expect(*run("tour", tmp / "doubling.py", timeout=20), has=["verified"]))
shutil.rmtree(tmp)

if shared.exists():
    for name in ("older", "format_fixtures"):
        def opens(name=name):
            bad = []
            for f in sorted((shared / "captures" / name).iterdir()):
                if f.suffix in (".pt2", ".pt"):
                    code, out, err = run("show", f)
                    if code:
                        bad.append(f"{f.name}: {err.strip()[-160:]}")
            return "; ".join(bad)
        case(f"captures/{name} open", opens)

    def traces():
        bad = []
        for f in sorted((shared / "traces").rglob("fx_graph_*.py")):
            if f.name not in ("fx_graph_readable.py", "fx_graph_transformed.py"):
                continue
            code, out, err = run("steps", f)
            if code:
                bad.append(f"{f.parent.name}/{f.name}: {err.strip()[-160:]}")
        return "; ".join(bad)
    case("FX text of debug folders opens and steps", traces)

    def full_step():
        bad = []
        for folder in sorted((shared / "captures/full").iterdir()):
            code, out, err = run("steps", folder / f"{folder.name}.pt2")
            if code:
                bad.append(f"{folder.name}: {(err + out).strip()[-160:]}")
        return "; ".join(bad)
    case("all full captures open and step", full_step)
    for mode in ("eager", "compiled"):
        def full(mode=mode):
            bad = []
            for name in ("resnet18", "resnet50", "mobilenet_v3_small", "bert_base", "gpt2", "vit_b_16", "convnext_tiny"):
                code, out, err = run("check", shared / "captures/full" / name, "--mode", mode)
                if code:
                    bad.append(f"{name}: {(out + err).strip()[-160:]}")
            return "; ".join(bad)
        case(f"full captures pass in mode {mode}", full)
else:
    for name in ("captures/older open", "captures/format_fixtures open", "FX text of debug folders", "full captures step", "full captures in eager mode", "full captures in compiled mode"):
        print(f"left out {name}: needs ../shared")
sys.exit(1 if failed else 0)
