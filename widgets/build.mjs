/** Builds ../dpviz/static: the same bytes from the same sources, on any machine. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "dpviz", "static");

const result = await build({
    absWorkingDir: here,
    entryPoints: [
        { in: "src/loader.ts", out: "loader" },
        { in: "src/workbench_program.ts", out: "workbench" },
        { in: "src/tape_program.ts", out: "tape" },
        { in: "src/explorers_program.ts", out: "explorers" },
        { in: "src/report_program.ts", out: "report" },
        { in: "src/report_explorers_program.ts", out: "report-explorers" },
        { in: "src/report_all_program.ts", out: "report-all" },
        { in: "src/styles/widgets.css", out: "widgets" },
        { in: "src/styles/report.css", out: "report" },
    ],
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

/** The kinds of answers that the programs draw: one file each. */
const views = readdirSync(join(here, "src", "views")).map((name) => name.replace(/\.ts$/, ""));
writeFileSync(join(process.argv[2] ?? out, "views.json"), `${JSON.stringify(views.sort())}\n`);

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
