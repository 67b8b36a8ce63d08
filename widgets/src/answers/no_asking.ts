/** `asking.ts` in a report: no kernel answers there, so nothing is asked, and views are lent this in its place. */

import type * as asking from "./asking";

export const asker: typeof asking.asker = () => null;
export const intervalText: typeof asking.intervalText = () => "";
export const rowText: typeof asking.rowText = ({ value }) => value;
