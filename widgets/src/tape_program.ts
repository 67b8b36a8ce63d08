/** The program of a sub-session's tape: each widget of it stands on its own. */

import "./built_in_views";
import { program } from "./host";
import { payWhatYouGetTape } from "./tape";
import { TapeDesk } from "./tape_store";

export default program({
    "pay-what-you-get-tape": () => {
        const store = new TapeDesk();
        return { store, component: payWhatYouGetTape(store), leave: () => store.close() };
    },
});
