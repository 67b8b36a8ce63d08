/** Builds ../dpviz/static: the same bytes from the same sources, on any machine. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "dpviz", "static");

const options = {
    absWorkingDir: here,
    entryNames: "[name]",
    outdir: process.argv[2] ?? out,
    alias: { "d3-interpolate": join(here, "src", "numbers", "interpolate.ts"), "d3-format": join(here, "src", "numbers", "no_format.ts") },
    bundle: true,
    format: "esm",
    target: ["es2022", "chrome111", "firefox113", "safari16.4"],
    minify: true,
    charset: "ascii",
    legalComments: "none",
    sourcemap: false,
    metafile: true,
    logLevel: "warning",
};

const result = await build({
    ...options,
    entryPoints: [
        { in: "src/programs/loader.ts", out: "loader" },
        { in: "src/programs/workbench.ts", out: "workbench" },
        { in: "src/programs/lesson.ts", out: "lesson" },
        { in: "src/programs/sub_session.ts", out: "tape" },
        { in: "src/programs/explorers.ts", out: "explorers" },
        { in: "src/programs/sparse.ts", out: "sparse" },
        { in: "src/programs/sampling.ts", out: "sampling" },
        { in: "src/programs/report.ts", out: "report" },
        { in: "src/programs/report_explorers.ts", out: "report-explorers" },
        { in: "src/programs/report_sparse.ts", out: "report-sparse" },
        { in: "src/programs/report_sampling.ts", out: "report-sampling" },
        { in: "src/programs/report_all.ts", out: "report-all" },
        { in: "src/styles/widgets.css", out: "widgets" },
        { in: "src/styles/report.css", out: "report" },
    ],
});

/** The kinds of answers that dpviz draws: one file each. Some views come with the programs, the others as bundles. */
const views = readdirSync(join(here, "src", "views")).map((name) => name.replace(/\.ts$/, "")).sort();
const brought = readFileSync(join(here, "src", "page", "built_in_views.ts"), "utf8");
const kinds = views.map((name) => [name, brought.includes(`"../views/${name}"`) ? "program" : "bundle"]);
writeFileSync(join(process.argv[2] ?? out, "views.json"), `${JSON.stringify(Object.fromEntries(kinds))}\n`);

/** The modules that a program lends to views, by their names in `shared.ts`. */
const LENT = new Map(
    [...readFileSync(join(here, "src", "page", "shared.ts"), "utf8").matchAll(/^import \* as (\w+) from "(.+)";$/gm)].map(
        ([, name, path]) => [path.startsWith(".") ? join(here, "src", "page", `${path}.ts`) : path, name],
    ),
);

LENT.set(join(here, "src", "answers", "asking.ts"), "asking"); // which program lends which, its call of `lend` says

/** What a report's program has already is not bundled once more with a view. */
const lent = {
    name: "lent",
    setup(view) {
        view.onResolve({ filter: /./ }, ({ path, resolveDir }) => {
            const name = LENT.get(path.startsWith(".") ? `${join(resolveDir, path)}.ts` : path);
            return name === undefined ? undefined : { path: name, namespace: "lent" };
        });
        view.onLoad({ filter: /./, namespace: "lent" }, ({ path }) => ({
            contents: `module.exports = globalThis[Symbol.for("dpviz.shared.1")].${path};`,
        }));
    },
};

/** A report carries the views of the kinds that it shows, each a bundle like one that is registered. */
for (const name of views) {
    await build({
        ...options,
        stdin: {
            contents: `import { ${name}View } from "./views/${name}"; export default () => ${name}View;`,
            resolveDir: join(here, "src"),
            loader: "ts",
        },
        entryNames: `view-${name}`,
        plugins: [lent],
    });
}

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
