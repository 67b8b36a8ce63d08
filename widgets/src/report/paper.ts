/** A report on paper: what the browser prints is open, whole and as wide as the sheet. */

import { PAPER } from "../dom/dom";

/** The text of a page of paper is so wide: an A4 sheet or a letter between its margins. */
const PAPER_WIDTH = 680;

/** On paper every table is open and whole, and every chart is drawn as wide as the sheet; afterwards all is as before. */
export function fitToPaper(root: HTMLElement): void {
    let opened: HTMLDetailsElement[] = [];
    const tell = (detail: "paper" | "screen"): void => {
        for (const element of root.querySelectorAll("*")) element.dispatchEvent(new CustomEvent(PAPER, { detail }));
    };
    const turn = (details: HTMLDetailsElement, open: boolean): void => {
        details.open = open;
        details.dispatchEvent(new Event("toggle")); // the browser's own comes too late
    };
    addEventListener("beforeprint", () => {
        opened = [...root.querySelectorAll<HTMLDetailsElement>("details:not([open]):is(.dp-numbers, .dp-how)")];
        for (const details of opened) turn(details, true);
        root.style.width = `${PAPER_WIDTH}px`;
        tell("paper");
    });
    addEventListener("afterprint", () => {
        root.style.width = "";
        for (const details of opened) turn(details, false);
        opened = [];
        tell("screen");
    });
}
