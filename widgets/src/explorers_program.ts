/** The program of the explorers: each stands on a sheet of its own, and on no session. */

import { EXPLORERS } from "./explorers";
import { program, type Mounted } from "./host";

export default program(
    Object.fromEntries(
        Object.entries(EXPLORERS).map(([name, make]) => [
            name,
            (): Mounted => {
                const { store: store, component } = make();
                return { store, component, leave: () => store.close() };
            },
        ]),
    ),
);
