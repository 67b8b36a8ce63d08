/** An answer too long to draw: told in words, and read bin by bin where a kernel is there to ask. */

import { asker } from "../answers/asking";
import { among, counted, type Counted } from "../wording/counted";
import { h } from "../dom/dom";
import { readField } from "../answers/read_field";
import type { ResultView } from "../answers/result_view";
import { often, shown, spread } from "../wording/words";

export const largeView: ResultView<Counted> = {
    kind: "large",
    read: counted,
    create(result, around) {
        const { read } = around;
        const asking = asker(result, around, () => undefined);
        const words = h("div", { class: "dp-large" });
        const { offline = null } = around;
        const pointwise = result.lookup === true && result.number !== null ? read : undefined;
        let level: [string, number] = [result.beta, 0];
        const field = readField(result, offline === null ? pointwise : offline.read, { offline, gone: () => around.gone?.() ?? false });
        return {
            element: h("div", {}, words, field?.element, asking?.element),
            levels: false,
            plain: true,
            draw(beta, width) {
                level = [beta, width];
                words.replaceChildren(...describe(result, beta));
                field?.draw(beta);
                asking?.draw(beta, width);
            },
            heed() {
                field?.heed();
                asking?.draw(...level);
            },
            close: () => asking?.close(),
            finding: () => "",
            key: () => [],
        };
    },
};

/** A release too long to draw here: how wrong it is, how long it is, and the call that has it all. */
function describe(result: Counted, beta: string): Node[] {
    const { one, all } = result.bars.get(beta)!;
    const count = result.bins === null ? "" : shown(result.bins);
    const size = count === "" ? (result.size ?? "") : `${count} bins`;
    return [
        h(
            "p",
            {},
            `${size}, ${spread(one)} for any one bin` +
                (all === null ? "" : `, ${spread(all)} for all ${result.sparse === true ? among(result) : count} at once`) +
                `, ${often(beta)}: ${result.lookup === true ? "answered one by one" : "too many to draw here"}.`,
        ),
        ...(result.python === ""
            ? []
            : result.lookup === true
              ? [h("p", {}, "Any of them, free: ", h("code", {}, `${result.python}[label]`))]
              : [h("p", {}, "All of it, free: ", h("code", {}, `${result.python}.to_frame()`))]),
    ];
}

