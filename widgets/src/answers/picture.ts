/** Saving the chart of a result as a picture that stands alone: no style sheet, no server, in the colours on show. */

import { label, textWidth } from "../charts/frame";
import { s, save } from "../dom/dom";
import type { Result } from "../protocol/protocol";
import { stemOf } from "./saving";

/** The values that the style sheet decides. These pass from an element to what is in it… */
const INHERITED = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity",
    "paint-order", "font-family", "font-size", "font-weight", "font-style", "font-variant-numeric", "text-anchor",
];
/** …and these do not. */
const OWN: Record<string, string> = { opacity: "1", "shape-rendering": "auto" };
const MARGIN = 12;
const LINE = 16;
/** The points of a PNG to one on the page: sharp in print. */
export const SCALE = 2;

/** The chart in an element, as far as it has one that shows. */
export const chartIn = (element: Element): SVGSVGElement | null =>
    [...element.querySelectorAll<SVGSVGElement>("svg.dp-chart")].find((chart) => chart.getBoundingClientRect().width > 0) ?? null;

/** Words in lines of at most so many pixels. */
export function linesOf(words: string, width: number): string[] {
    const lines: string[] = [];
    for (const word of words.split(" ")) {
        const longer = lines.length === 0 ? word : `${lines.at(-1)!} ${word}`;
        if (lines.length > 0 && textWidth(longer) <= width) lines[lines.length - 1] = longer;
        else lines.push(word);
    }
    return lines;
}

/** The chart under its title and its guarantee, with everything that the style sheet says of it written into it. */
export function standing(chart: SVGSVGElement, result: Result): SVGSVGElement {
    const { width, height } = chart.viewBox.baseVal;
    const plain = getComputedStyle(chart.closest(".dpviz") ?? chart);
    const heads = linesOf(result.title, width / 1.15).map((words) => ({ words, weight: "600" }));
    const told = result.teaching === null ? result.guarantee : `Not private: a teaching draw with seed ${result.teaching.seed}.`;
    const lines = [...heads, ...linesOf(told, width).map((words) => ({ words, weight: "400" }))];
    const top = MARGIN + lines.length * LINE + 6;
    const [wide, high] = [width + 2 * MARGIN, top + height + MARGIN];
    const words = lines.map(({ words, weight }, at) => {
        const text = label(MARGIN, MARGIN + (at + 1) * LINE - 4, words);
        text.removeAttribute("class");
        text.setAttribute("style", `font:${weight} 12px ${plain.fontFamily};fill:${plain.color}`);
        return text;
    });
    const inside = s("svg", { x: MARGIN, y: top, width, height, viewBox: `0 0 ${width} ${height}`, overflow: "visible" });
    const copied = chart.cloneNode(true) as SVGSVGElement;
    write(chart, copied, null);
    inside.setAttribute("style", copied.getAttribute("style") ?? "");
    inside.append(...copied.childNodes);
    const paper = s("rect", { x: 0, y: 0, width: wide, height: high, fill: paperOf(chart) });
    const picture = s("svg", { xmlns: "http://www.w3.org/2000/svg", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": result.title });
    picture.append(s("title", {}, `${result.title}. ${told}`), paper, ...words, inside);
    return picture;
}

/** The colour behind the chart: the first thing around it that is not transparent. */
function paperOf(chart: Element): string {
    for (let around: Element | null = chart; around !== null; around = around.parentElement) {
        const { backgroundColor } = getComputedStyle(around);
        if (!/^(transparent|rgba\(.*, 0\)|)$/.test(backgroundColor)) return backgroundColor;
    }
    return "#fff";
}

/** Write the style of an element, and of all in it, into its copy; what does not show is left out. */
function write(from: Element, to: Element, above: CSSStyleDeclaration | null): void {
    const style = getComputedStyle(from);
    const own = Object.entries(OWN).filter(([name, plain]) => ![plain, ""].includes(style.getPropertyValue(name)));
    const passed = INHERITED.filter((name) => style.getPropertyValue(name) !== (above?.getPropertyValue(name) ?? ""));
    const words = [...passed, ...own.map(([name]) => name)].map((name) => `${name}:${style.getPropertyValue(name)}`);
    for (const name of ["class", "tabindex"]) to.removeAttribute(name);
    if (words.length > 0) to.setAttribute("style", words.join(";"));
    const copies = [...to.children];
    [...from.children].forEach((child, at) => {
        const shown = getComputedStyle(child);
        if (shown.display === "none" && !child.closest("defs")) copies[at]!.remove();
        else write(child, copies[at]!, style);
    });
}

const textOf = (picture: SVGSVGElement): string => new XMLSerializer().serializeToString(picture);

export function saveSvg(chart: SVGSVGElement, result: Result): void {
    save(`${stemOf(result)}.svg`, "image/svg+xml", `<?xml version="1.0" encoding="UTF-8"?>\n${textOf(standing(chart, result))}\n`);
}

/** Save it in points; what could not be done is told. */
export async function savePng(chart: SVGSVGElement, result: Result, tell: (words: string) => void): Promise<void> {
    const picture = standing(chart, result);
    const { width, height } = picture.viewBox.baseVal;
    try {
        const image = new Image();
        image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(picture))}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [Math.round(width * SCALE), Math.round(height * SCALE)];
        canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
        const points = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
        if (points === null) throw new Error("no points");
        save(`${stemOf(result)}.png`, "image/png", points);
    } catch {
        tell("This page does not let a picture be drawn. Save it as SVG.");
    }
}
