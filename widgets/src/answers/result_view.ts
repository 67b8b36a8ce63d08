/**
 * The views that draw one kind of answer each, and the kinds that this program brings along.
 *
 * A view is a module of its own; nothing else on the page knows its name. The views in `views/` come with the program;
 * others travel as bundles of their own (`guest_views.ts`), and draw by the same rules.
 */

import type { Offline } from "../offline/carried";
import { checkResults, type AskQuantiles, type AskStored, type Further, type ReadPoints, type Result } from "../protocol/protocol";

/** One answer on the page, drawn by the view of its kind. */
export interface Drawing {
    readonly element: HTMLElement;
    /** Whether a reader may choose how often the intervals hold. */
    readonly levels: boolean;
    /** Whether it is told in words alone: then nothing is listed or saved beside it. */
    readonly plain: boolean;
    /** Draw at this level and width; called again whenever one of them changes. */
    draw(beta: string, width: number): void;
    /** The finding in one sentence, or nothing. */
    finding(beta: string): string;
    /** The meaning of the marks; asked after each drawing. */
    key(beta: string): readonly Node[];
    /** Something else on the page has changed, such as whether a kernel answers. */
    heed?(): void;
    close?(): void;
}

/** The frame around a drawing. */
export interface Surroundings {
    /** Draw everything again: what is on show has changed by a reader's hand. */
    redraw(): void;
    /** Reads points of the stored answer, free; without a kernel there is nobody to ask. */
    readonly read: ReadPoints | undefined;
    /** Asks for sums and comparisons of the stored answer, free; likewise. */
    readonly ask?: AskStored | undefined;
    /** Asks for the quantiles of the stored answer, free; likewise. */
    readonly quantiles?: AskQuantiles | undefined;
    /** Draws further records, free where the answer allows it; likewise. */
    readonly further?: Further | undefined;
    /** How this page answers look-ups by itself, in a report that carries what that takes. */
    readonly offline?: Offline | null | undefined;
    /** Whether a kernel that was there is gone. */
    gone?(): boolean;
}

/** The table of an answer as far as the page holds it, to be saved where no kernel answers. */
export interface OfPage {
    /** The content, in a few words. */
    says: string;
    /** The lines before the first row. */
    head: string;
    rows: number;
    line(row: number): string;
}

export interface ResultView<Body = unknown> {
    readonly kind: string;
    /** The drawing of a result by this view. Throws `Malformed` for what it cannot draw. */
    read(result: Result): Body;
    create(body: Body, around: Surroundings): Drawing;
    /** Its numbers as a table; left out where there is no list of them. */
    table?(body: Body, beta: string): HTMLElement;
    /** The same for a file, at this level; left out where a page without a kernel has no such table. */
    csv?(body: Body, beta: string): OfPage;
    /** Whether half of a report's width is enough for it. */
    narrow?(body: Body): boolean;
}

const BROUGHT = new Map<string, ResultView>();

/** Make the views known that come with this program. */
export function bring(...views: readonly ResultView<any>[]): void {
    for (const view of views) {
        BROUGHT.set(view.kind, view);
        checkResults(view.kind, (result) => view.read(result));
    }
}

/** The view that came with this program for answers of this kind. */
export const brought = (kind: string): ResultView | undefined => BROUGHT.get(kind);
