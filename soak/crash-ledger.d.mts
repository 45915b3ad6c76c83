export interface LedgerFinding {
  readonly class: string;
  readonly what: string;
}
export interface LoggedEvent {
  readonly idx: number;
  readonly type: string;
  readonly [field: string]: unknown;
}
export function createLedger(): {
  sessionIds(): string[];
  created(id: string): void;
  prompted(id: string, promptId: string, acknowledged: boolean): void;
  answered(id: string, toolCallId: string): void;
  saw(id: string, event: LoggedEvent): LedgerFinding | undefined;
  counts(): Record<string, number>;
  check(id: string, events: readonly LoggedEvent[], options?: { over?: boolean }): readonly LedgerFinding[];
};
