// What tests see of check.mjs.

export interface Finding {
  readonly class: string;
  readonly what: string;
}
/** The facts of one round, as player.mjs gives them. */
export declare function checkRound(facts: unknown): readonly Finding[];
