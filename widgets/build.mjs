/** Builds ../dpviz/static: the same bytes from the same sources, on any machine. */

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "dpviz", "static");

const result = await build({
    absWorkingDir: here,
    entryPoints: ["src/widgets.ts", "src/report.ts", "src/styles/widgets.css", "src/styles/report.css"],
    entryNames: "[name]",
    outdir: process.argv[2] ?? out,
    bundle: true,
    format: "esm",
    target: ["es2022", "chrome111", "firefox113", "safari16.4"],
    minify: true,
    charset: "ascii",
    legalComments: "none",
    sourcemap: false,
    metafile: true,
    logLevel: "warning",
});

/** The licences of what the bundles contain, for they travel without node_modules. */
const packages = new Set(
    Object.keys(result.metafile.inputs).flatMap(
        (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
    ),
);
const notices = [...packages].sort().map((name) => {
    const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(
    join(process.argv[2] ?? out, "LICENSES.txt"),
    `The bundles in this folder contain:\n\n${notices.join(`\n${"-".repeat(80)}\n\n`)}`,
);
