/** The program of the Workbench and of its parts: components of one desk share its store. */

import "./built_in_views";
import { budgetMeter } from "./budget_meter";
import type { Component } from "./component";
import { program, type Standing } from "./host";
import { mechanismPicker } from "./mechanism_picker";
import { planPane } from "./plan_pane";
import { releasePane } from "./release_pane";
import { resultChart, resultOf } from "./result_chart";
import { leave, sit, type Desk } from "./store";
import { workbench } from "./workbench";

const of =
    (component: (desk: Desk) => Component) =>
    (id: string): Standing => {
        const store = sit(id);
        return { store, component: component(store), leave: () => leave(id) };
    };

export default program({
    workbench: of(workbench),
    "mechanism-picker": of(mechanismPicker),
    "plan-pane": of((desk) => planPane(desk)),
    "release-pane": of(releasePane),
    "budget-meter": of(budgetMeter),
    "result-chart": of((desk) => resultChart(resultOf(desk))),
});
