// What tests see of soak.mjs.

import type { Finding } from './check.mjs';
import type { GroupPlan } from './schedule.mjs';

export interface SoakOutcome {
  readonly rounds: readonly { readonly round: number; readonly kind: string; readonly findings: readonly Finding[] }[];
  readonly stack: readonly Finding[];
  readonly seconds: number;
}
export declare function runSoak(options: {
  readonly claude: string;
  readonly groups: readonly GroupPlan[];
}): Promise<SoakOutcome>;
