/** How explorers come to stand on stores of their own, and the program of some of them. */

import type { Component } from "../dom/component";
import { Explorer } from "./explorer";
import { program, type Mounted, type Program } from "../page/host";
import type { Point, Sheet } from "../protocol/sheet_parts";
import type { ViewStore } from "../stores/view_store";

/** How each component comes to stand on a store of its own. */
export type Explorers = Record<string, () => { store: ViewStore; component: Component }>;

export function explorerOf<S extends Sheet<Point>>(read: (value: unknown) => S, component: (store: Explorer<S>) => Component): () => { store: Explorer<S>; component: Component } {
    return () => {
        const store = new Explorer(read);
        return { store, component: component(store) };
    };
}

/** A program that draws these explorers: each stands on a sheet of its own, and on no session. */
export const programOf = (explorers: Explorers): Program =>
    program(
        Object.fromEntries(
            Object.entries(explorers).map(([name, make]) => [
                name,
                (): Mounted => {
                    const { store, component } = make();
                    return { store, component, leave: () => store.close() };
                },
            ]),
        ),
    );
