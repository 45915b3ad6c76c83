// What tests see of schedule.mjs.

export interface RoundPlan {
  readonly round: number;
  readonly tag: string;
  readonly kind: string;
  readonly cards: readonly { readonly act: string }[];
  readonly followUps: readonly string[];
  readonly extras: readonly { readonly do: string }[];
  readonly faults: readonly { readonly target: string }[];
}
export interface GroupPlan {
  readonly seed: string;
  readonly first: number;
  readonly parallel: number;
  readonly rounds: readonly RoundPlan[];
  readonly faults: readonly { readonly what: string; readonly afterMs: number }[];
}
export declare const KINDS: readonly string[];
export declare const STACK_FAULTS: readonly string[];
export declare function planRound(seed: string, round: number): RoundPlan;
export declare function planRun(seed: string, rounds: number, parallel: number): readonly GroupPlan[];
export declare function planReplay(seed: string, round: number, parallel: number): GroupPlan;
