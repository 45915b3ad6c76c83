// One scripted model for a test file, one host a test, all ended afterwards.

import { createDemoModel, type DemoModel, type LogEntry } from '@engram/demo-model';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type CliVersion, claudeBinary, TestHost, type TestHostOptions } from './test-host.js';

export interface SessionFixture {
  readonly model: DemoModel;
  open(version: CliVersion, options?: Partial<TestHostOptions>): Promise<TestHost>;
  /** The model's requests of one session, side requests left out. */
  requestsOf(host: TestHost): LogEntry[];
}

export function useSessions(): SessionFixture {
  let model: DemoModel | undefined;
  const hosts: TestHost[] = [];
  beforeAll(async () => {
    model = await createDemoModel();
  });
  afterEach(async () => {
    await Promise.all(hosts.splice(0).map((host) => host.close()));
  });
  afterAll(async () => {
    await model?.close();
  });
  const theModel = (): DemoModel => {
    if (!model) throw new Error('the model is not there yet');
    return model;
  };
  return {
    get model() {
      return theModel();
    },
    async open(version, options = {}) {
      const host = new TestHost({ claudeBin: claudeBinary(version), modelUrl: theModel().url, ...options });
      hosts.push(host);
      await host.start();
      return host;
    },
    requestsOf: (host) =>
      theModel().requests.filter((entry) => entry.workspace === host.workspace && entry.scenario !== null),
  };
}
