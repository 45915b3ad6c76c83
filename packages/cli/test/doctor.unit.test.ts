import { describe, expect, it } from 'vitest';
import { checkNode, toTrialFindings } from '../src/commands/doctor.js';

describe('the doctor', () => {
  it('knows which Node is too old', () => {
    expect(checkNode('20.18.3').verdict).toBe('fail');
    expect(checkNode('20.19.0').verdict).toBe('ok');
    expect(checkNode('24.0.0').verdict).toBe('ok');
  });

  it('judges only what the trial reached', () => {
    const verdicts = (trial: Parameters<typeof toTrialFindings>[0]): Record<string, string> =>
      Object.fromEntries(toTrialFindings(trial).map(({ check, verdict }) => [check, verdict]));
    expect(verdicts({ asked: false, answered: false, problem: 'no disk' })).toEqual({
      'PostgreSQL and server': 'fail',
    });
    expect(verdicts({ readyMs: 1, isolation: 'process — none', asked: false, answered: false })).toEqual({
      'PostgreSQL and server': 'ok',
      isolation: 'warn',
      'question tool': 'fail',
    });
    expect(verdicts({ readyMs: 1, isolation: 'bubblewrap', asked: true, answered: false })).toEqual({
      'PostgreSQL and server': 'ok',
      isolation: 'ok',
      'question tool': 'ok',
      'hook round trip': 'fail',
    });
  });

  it('says for every failure what to do or what went wrong', () => {
    for (const finding of toTrialFindings({ readyMs: 1, asked: true, answered: false })) {
      if (finding.verdict === 'fail') expect(finding.mend).toBeDefined();
    }
  });
});
