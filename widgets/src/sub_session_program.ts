/** The program of a sub-session's sub-session view: each widget of it stands on its own. */

import "./built_in_views";
import { program } from "./host";
import { payWhatYouGetTape } from "./sub_session_view";
import { SubSessionStore } from "./sub_session_store";

export default program({
    "pay-what-you-get-tape": () => {
        const store = new SubSessionStore();
        return { store, component: payWhatYouGetTape(store), leave: () => store.close() };
    },
});
