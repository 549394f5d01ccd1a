#!/usr/bin/env node
// Starts the haft program of the package for this platform, with the same arguments, streams and end.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

function fail(message) {
  process.stderr.write(`haft: ${message}\n`);
  process.exit(1);
}

function program() {
  if (process.env.HAFT_BINARY) return process.env.HAFT_BINARY;
  const name = `@haftdev/haft-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/haft${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    return fail(
      `the package ${name} is not installed. Install it with 'npm install ${name}', or set HAFT_BINARY to the program. ` +
        "If there is no such package for your platform, use 'go install github.com/haftdev/haft/cmd/haft@latest'.",
    );
  }
}

const file = program();
const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });

// A terminal sends signals to both; one that is meant for this process alone is passed on.
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
for (const signal of signals) process.on(signal, () => child.kill(signal));

child.on("error", (error) => fail(`could not start ${file}: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const s of signals) process.removeAllListeners(s);
  process.kill(process.pid, signal);
  // A signal that node does not die of ends it as a shell would report it.
  setTimeout(() => process.exit(128 + os.constants.signals[signal]), 1000);
});
