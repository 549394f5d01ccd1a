// Makes the npm packages of a release: node npm/fill.mjs VERSION DIST OUT
//
// DIST has the archives and checksums.txt of the release, OUT gets one folder for each package, ready for npm pack.
// An archive that is missing or does not match its checksum ends it: a release is whole or not made.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const archs = { x64: "amd64", arm64: "arm64" };
const systems = { linux: "linux", darwin: "darwin", win32: "windows" };

const [version, dist, out] = process.argv.slice(2);
if (!out) fail("usage: node npm/fill.mjs VERSION DIST OUT");
if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) fail(`${version} is not a version such as 1.2.3`);
if (existsSync(out)) fail(`${out} exists already. Remove it, or name another folder`);

function fail(message) {
  console.error(`Could not make the packages: ${message}`);
  process.exit(1);
}

function checksums() {
  const lines = readFileSync(join(dist, "checksums.txt"), "utf8").trim().split("\n");
  return new Map(lines.map((line) => line.split(/\s+\*?/)).map(([sum, name]) => [name, sum]));
}

// unpack returns the program in an archive of the release.
function unpack(archive, member) {
  const dir = mkdtempSync(join(tmpdir(), "haft-npm-"));
  try {
    if (archive.endsWith(".zip") && process.platform === "linux") execFileSync("unzip", ["-q", archive, member, "-d", dir]);
    else execFileSync("tar", ["-xf", archive, "-C", dir, member]);
    return readFileSync(join(dir, member));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

// verified returns the path of an archive whose bytes are those that the release lists.
function verified(name, sums) {
  const path = join(dist, name);
  if (!existsSync(path)) fail(`${path} is missing`);
  const sum = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (sums.get(name) !== sum) fail(`${path} does not match checksums.txt`);
  return path;
}

function write(name, manifest, fill) {
  const dir = join(out, name);
  mkdirSync(dir, { recursive: true });
  cpSync(join(here, "..", "LICENSE"), join(dir, "LICENSE"));
  fill(dir);
  writeFileSync(join(dir, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
}

const main = { ...JSON.parse(readFileSync(join(here, "package.json"), "utf8")), version, optionalDependencies: {} };
const sums = checksums();
const programs = [];
for (const [system, goos] of Object.entries(systems)) {
  for (const [arch, goarch] of Object.entries(archs)) {
    const windows = goos === "windows";
    const archive = verified(`haft_${version}_${goos}_${goarch}.${windows ? "zip" : "tar.gz"}`, sums);
    const file = windows ? "haft.exe" : "haft";
    programs.push({ system, arch, file, bytes: unpack(archive, file) });
  }
}
for (const { system, arch, file, bytes } of programs) {
  const { description, license, homepage, repository } = main;
  const name = `haft-${system}-${arch}`;
  main.optionalDependencies[`@haftdev/${name}`] = version;
  write(
    name,
    { name: `@haftdev/${name}`, version, description, license, homepage, repository, os: [system], cpu: [arch], files: ["bin"], preferUnplugged: true },
    (dir) => {
      mkdirSync(join(dir, "bin"));
      writeFileSync(join(dir, "bin", file), bytes);
      chmodSync(join(dir, "bin", file), 0o755);
    },
  );
}
write("haft", main, (dir) => {
  for (const file of ["haft.js", "README.md"]) cpSync(join(here, file), join(dir, file));
  chmodSync(join(dir, "haft.js"), 0o755);
});
