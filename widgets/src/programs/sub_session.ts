/** The program of a sub-session's sub-session view: each widget of it stands on its own. Its answers are lists. */

import { program } from "../page/host";
import { bring } from "../answers/result_view";
import { payWhatYouGetTape } from "../workbench/sub_session_view";
import { SubSessionStore } from "../stores/sub_session_store";
import { rankedView } from "../views/ranked";

bring(rankedView);

export default program({
    "pay-what-you-get-tape": () => {
        const store = new SubSessionStore();
        return { store, component: payWhatYouGetTape(store), leave: () => store.close() };
    },
});
