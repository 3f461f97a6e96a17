// node tests/benchmarks/ratio.mjs NATIVE WASM: runs the native program `rates` and its WebAssembly twin, and prints
// a table with the ratio of the two.
import { spawnSync } from "node:child_process";
import process from "node:process";

const [native, wasm] = process.argv.slice(2);
if (!native || !wasm) {
  console.error("usage: node tests/benchmarks/ratio.mjs build/native/rates build/wasm/rates.js");
  process.exit(2);
}

function rates(command, args) {
  const run = spawnSync(command, args, { encoding: "utf8" });
  if (run.status !== 0) {
    console.error(`${command} ${args.join(" ")} failed: ${run.stderr || run.error}`);
    process.exit(1);
  }
  return new Map(
    run.stdout
      .trim()
      .split("\n")
      .map((line) => line.split("\t"))
      .map(([name, rate]) => [name, Number(rate)]),
  );
}

const nativeRates = rates(native, []);
const wasmRates = rates(process.execPath, [wasm]);
const number = (value) => Math.round(value).toLocaleString("en-US").padStart(12);
console.log(`${"a second".padEnd(42)}${"native".padStart(12)}${"wasm".padStart(12)}${"ratio".padStart(8)}`);
for (const [name, rate] of nativeRates) {
  const twin = wasmRates.get(name);
  console.log(`${name.padEnd(42)}${number(rate)}${number(twin)}${(twin / rate).toFixed(2).padStart(8)}`);
}
