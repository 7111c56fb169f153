#!/usr/bin/env python3
"""Our eager against PyTorch's eager, graph by graph: times, ratios and their geometric mean.

Makes its own virtual environment (build/torch-venv) with torch, torchvision and transformers; nothing else of the project needs PyTorch.
The models come from captures/models.py, filled with the synthetic weights of captures/synth.py, so both sides compute the same numbers.
Exit code 1 when the geometric mean exceeds --limit.
"""
import argparse, json, math, os, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("FW_SHARED", ROOT.parent / "shared"))
VENV = ROOT / "build" / "torch-venv"
DEFAULT = ["small/pointwise_chain", "small/layernorm_gelu", "small/softmax_rows", "small/attention", "full/resnet18", "full/bert_base"]

# Runs inside the venv: one process per measurement, so that nobody inherits another's threads or caches.
MEASURE = r"""
import json, sys, time
shared, name, threads, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
sys.path.insert(0, shared + "/captures")
import torch, models, synth
torch.set_num_threads(threads)
made = (models.SMALL[name] if name in models.SMALL else models.FULL[name])()
module, args = made[0], made[1]
kwargs = made[2] if name in models.FULL and made[2] else {}
synth.fill_module(module)
module.eval()
best = best_cpu = float("inf")
with torch.no_grad():
    for _ in range(3):
        module(*args, **kwargs)
    start, runs = time.perf_counter(), 0
    while runs < 5 or time.perf_counter() - start < seconds:
        wall, cpu = time.perf_counter(), time.process_time()
        module(*args, **kwargs)
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best = min(best, time.perf_counter() - wall)
        runs += 1
print(json.dumps({"ms": best * 1e3, "cpu_ms": best_cpu * 1e3}))
"""


def make_venv():
    python = VENV / "bin" / "python"
    if not python.exists():
        print("making", VENV, file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    have = subprocess.run([str(python), "-c", "import torch, torchvision, transformers, numpy"], capture_output=True)
    if have.returncode:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "torch", "torchvision", "transformers", "numpy"], check=True)
    return str(python)


def torch_time(python, name, threads, seconds):
    out = subprocess.run([python, "-c", MEASURE, str(SHARED), name, str(threads), str(seconds)], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(f"PyTorch could not run {name}:\n{out.stderr[-2000:]}")
    return json.loads(out.stdout.strip().splitlines()[-1])


def our_times(build, path, threads, seconds):
    """Eager alone from eager_bench when it is built (it reports CPU time too), compiled from the CLI when that is."""
    result = {}
    bench, cli = build / "tests" / "eager_bench", build / "app" / "fusewright-cli"
    if bench.exists():
        out = subprocess.run([str(bench), str(path), "--threads", str(threads), "--seconds", str(seconds)], capture_output=True, text=True)
        if out.returncode:
            raise SystemExit(f"eager_bench failed on {path}: {out.stderr}")
        line = json.loads(out.stdout.strip().splitlines()[-1])
        result.update(eager_ms=line["eager_ms"], eager_cpu_ms=line["cpu_ms"])
    if cli.exists():
        out = subprocess.run([str(cli), "profile", str(path), "--threads", str(threads), "--json", "-"], capture_output=True, text=True)
        if out.returncode == 0:
            text = out.stdout
            line = json.loads(text[text.index("{"):])
            result.setdefault("eager_ms", line["eager_ms"])
            result["compiled_ms"] = line["compiled_ms"]
    if "eager_ms" not in result:
        raise SystemExit(f"neither {bench} nor {cli} is built")
    return result


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captures", nargs="+", default=DEFAULT, help="folders under captures/, for example full/resnet18")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="measured window per graph and side")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--cpu", action="store_true", help="compare CPU time instead of wall time (one thread, needs eager_bench)")
    parser.add_argument("--limit", type=float, default=1.25, help="largest allowed geometric mean of eager / PyTorch")
    parser.add_argument("--json", help="write the numbers to this file")
    options = parser.parse_args()
    if options.cpu and options.threads != 1:
        parser.error("--cpu compares one thread")
    python = make_venv()
    rows, ratios, compiled = [], [], []
    print(f"{'capture':28}{'PyTorch ms':>12}{'eager ms':>12}{'ratio':>8}{'compiled ms':>13}{'ratio':>8}   ({options.threads} thread{'s' if options.threads > 1 else ''})")
    for capture in options.captures:
        name = capture.split("/")[-1]
        torch = torch_time(python, name, options.threads, options.seconds)
        ours = our_times(options.build, SHARED / "captures" / capture / (name + ".pt2"), options.threads, options.seconds)
        theirs = torch["cpu_ms"] if options.cpu else torch["ms"]
        eager = ours.get("eager_cpu_ms", ours["eager_ms"]) if options.cpu else ours["eager_ms"]
        ratios.append(eager / theirs)
        text = f"{capture:28}{theirs:12.4f}{eager:12.4f}{eager / theirs:8.3f}"
        if "compiled_ms" in ours:
            compiled.append(ours["compiled_ms"] / theirs)
            text += f"{ours['compiled_ms']:13.4f}{compiled[-1]:8.3f}"
        print(text, flush=True)
        rows.append({"capture": capture, "torch_ms": theirs, **ours})
    mean = geometric_mean(ratios)
    print(f"geometric mean of eager / PyTorch: {mean:.3f} (limit {options.limit})")
    if compiled:
        print(f"geometric mean of compiled / PyTorch: {geometric_mean(compiled):.3f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"threads": options.threads, "rows": rows, "geometric_mean": mean}, indent=1))
    return 0 if mean <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
