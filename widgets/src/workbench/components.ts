/** The Workbench and its parts, as a program names them: components of one store share its store. */

import { adviceLines } from "./advice_lines";
import { budgetMeter } from "./budget_meter";
import type { Component } from "../dom/component";
import type { Mounted } from "../page/host";
import { mechanismPicker } from "./mechanism_picker";
import { limitBox } from "./limit_box";
import { planPane } from "./plan_pane";
import { orderPane } from "./order_pane";
import { resultChart, resultOf } from "./result_chart";
import type { SessionStore } from "../stores/session_store";
import { acquire, leave } from "../stores/shared_stores";

const of =
    (component: (store: SessionStore) => Component) =>
    (id: string): Mounted => {
        const store = acquire(id);
        return { store, component: component(store), leave: () => leave(id) };
    };

export const components = (workbench: (store: SessionStore) => Component): Record<string, (id: string) => Mounted> => ({
    workbench: of(workbench),
    "mechanism-picker": of(mechanismPicker),
    "plan-pane": of((store) => planPane(store, undefined, null, limitBox(store), adviceLines(store))),
    "release-pane": of((store) => orderPane(store)),
    "budget-meter": of(budgetMeter),
    "result-chart": of((store) => resultChart(resultOf(store))),
});
