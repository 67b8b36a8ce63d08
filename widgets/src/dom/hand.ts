/**
 * Whether the reader has done anything since a moment: what comes late moves the focus of nobody who has gone on.
 *
 * Keys that only go with others, and what a held key repeats, count for nothing.
 */

const MODIFIERS = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta"]);

let touched = 0;

function touch(event: Event): void {
    const { key, repeat } = event as Partial<KeyboardEvent>;
    if (repeat !== true && !MODIFIERS.has(key ?? "")) touched += 1;
}

for (const event of ["keydown", "pointerdown"]) globalThis.document?.addEventListener(event, touch, { capture: true, passive: true });

/** A moment, by what the reader had done; the same later where the reader has done nothing since. */
export const hand = (): number => touched;
