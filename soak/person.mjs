// What a person sends in a round, and what was said to it. Each answer, prompt and reason holds words that
// occur nowhere else, so the model's requests tell whether they arrived.

import { labelsOf, promptKey, promptText, questionKeyOf } from './scenarios.mjs';

export class Person {
  acts = [];
  prompts = 0;

  note(act) {
    this.acts.push({ at: Date.now(), ...act });
  }

  /** `hand`: a or b for two people who say different things, `late` for who comes when it is over. */
  async answer(card, form, hand) {
    const answers = {};
    const tokens = [];
    for (const { question, multi_select } of card.questions) {
      const key = questionKeyOf(question);
      const labels = labelsOf(key);
      const values =
        form === 'words'
          ? [`Words-${hand}-${key}-end, "as they are"`]
          : form === 'labels' && multi_select
            ? [labels[0], labels[2]]
            : [labels[hand === 'a' ? 0 : 1]];
      answers[question] = values;
      tokens.push(...values.map((value) => (form === 'words' ? `Words-${hand}-${key}-end` : value)));
    }
    const call = card.tool_call_id;
    const { status, body, tries } = await this.client.send('POST', `${this.path}/answers`, {
      tool_call_id: call,
      answers,
    });
    this.note({ kind: 'answer', hand, call, tokens, answers, status, code: body?.code, tries });
  }

  async dismiss(card, withReason) {
    const call = card.tool_call_id;
    const reason = withReason ? `No-time-${questionKeyOf(card.questions[0].question)}-now` : undefined;
    const body = reason === undefined ? {} : { reason };
    const { status, body: reply } = await this.client.send('POST', `${this.path}/questions/${call}/dismiss`, body);
    this.note({ kind: 'dismiss', call, reason, status, code: reply?.code });
  }

  async sendPrompt(why) {
    const number = ++this.prompts;
    const key = promptKey(this.plan.tag, number);
    const body = { text: promptText(key), prompt_id: `prompt-${key}-${this.id}` };
    const { status, tries } = await this.client.send('POST', `${this.path}/prompts`, body);
    this.note({ kind: 'prompt', why, key, status, tries });
  }

  async interrupt() {
    const { status } = await this.client.send('POST', `${this.path}/interrupt`);
    this.note({ kind: 'interrupt', status });
  }

  async steer(verb) {
    const { status } = await this.client.send('POST', `${this.path}/${verb}`);
    this.note({ kind: verb, status });
  }
}
