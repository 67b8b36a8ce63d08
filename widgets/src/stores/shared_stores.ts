/** The stores of this page: widgets of one session model share one, which closes when the last of them has left. */

import { SessionStore } from "./session_store";

interface Shared {
    store: SessionStore;
    users: number;
}

/** Every widget brings its own copy of this module; the stores are shared through the page. */
const SHARED = Symbol.for("dpviz.desks.1");

function sharedStores(): Map<string, Shared> {
    const page = globalThis as unknown as { [SHARED]?: Map<string, Shared> };
    return (page[SHARED] ??= new Map<string, Shared>());
}

/** The store of a session model, for one more widget. */
export function acquire(id: string): SessionStore {
    const shared = sharedStores().get(id) ?? { store: new SessionStore(), users: 0 };
    shared.users += 1;
    sharedStores().set(id, shared);
    return shared.store;
}

/** A widget of this session model has left. */
export function leave(id: string): void {
    const shared = sharedStores().get(id);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.store.close();
    sharedStores().delete(id);
}
