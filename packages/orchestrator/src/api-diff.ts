// What a change of the published documents takes away from somebody who relies on the old ones:
// a path, a method, a parameter, a field, an enum value or an alternative that is gone, a type that
// changed, a request that needs more, a reply that promises less. Works on OpenAPI documents and on
// plain JSON Schemas; additions are never reported.

type Json = { readonly [key: string]: unknown };

/** A request may not ask for more; a reply may not hold less. */
type Side = 'request' | 'reply';

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectAt(value: unknown, key: string): Json {
  const inner = isObject(value) ? value[key] : undefined;
  return isObject(inner) ? inner : {};
}

function listAt(value: unknown, key: string): readonly unknown[] {
  const inner = isObject(value) ? value[key] : undefined;
  return Array.isArray(inner) ? inner : [];
}

export function breakingChanges(released: unknown, current: unknown): readonly string[] {
  const found: string[] = [];
  const seen = new Set<string>();

  function deref(root: unknown, schema: unknown): unknown {
    let at = schema;
    for (let hops = 0; isObject(at) && typeof at.$ref === 'string' && hops < 20; hops += 1) {
      at = at.$ref
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), root);
    }
    return at;
  }

  function compareSchema(oldRaw: unknown, newRaw: unknown, where: string, side: Side): void {
    const ref = isObject(oldRaw) && typeof oldRaw.$ref === 'string' ? oldRaw.$ref : undefined;
    if (ref !== undefined) {
      // A named schema is compared once a side, under its own name.
      const name = `${side}:${ref}`;
      if (seen.has(name)) return;
      seen.add(name);
    }
    const was = deref(released, oldRaw);
    const is = deref(current, newRaw);
    const place = ref === undefined ? where : ref.replace(/^.*\//, '');
    if (!isObject(was)) return;
    if (!isObject(is)) {
      found.push(`${place}: schema removed`);
      return;
    }
    if (was.type !== undefined && JSON.stringify(was.type) !== JSON.stringify(is.type)) {
      found.push(`${place}: type ${JSON.stringify(was.type)} became ${JSON.stringify(is.type) ?? 'none'}`);
    }
    if ('const' in was && JSON.stringify(was.const) !== JSON.stringify(is.const)) {
      found.push(`${place}: constant ${JSON.stringify(was.const)} changed`);
    }
    compareEnum(was, is, place);
    compareFields(was, is, place, side);
    for (const key of ['items', 'additionalProperties']) {
      if (isObject(was[key])) compareSchema(was[key], is[key], `${place}.${key === 'items' ? '[]' : '*'}`, side);
    }
    for (const key of ['oneOf', 'anyOf', 'allOf']) compareArms(was, is, key, place, side);
  }

  function compareEnum(was: Json, is: Json, place: string): void {
    if (!('enum' in was) || !('enum' in is)) return;
    const now = new Set(listAt(is, 'enum').map((value) => JSON.stringify(value)));
    for (const value of listAt(was, 'enum')) {
      if (!now.has(JSON.stringify(value))) found.push(`${place}: enum value ${JSON.stringify(value)} removed`);
    }
  }

  function compareFields(was: Json, is: Json, place: string, side: Side): void {
    const fields = objectAt(is, 'properties');
    for (const [name, schema] of Object.entries(objectAt(was, 'properties'))) {
      if (!Object.hasOwn(fields, name)) found.push(`${place}.${name}: field removed`);
      else compareSchema(schema, fields[name], `${place}.${name}`, side);
    }
    const before = new Set(listAt(was, 'required'));
    const after = new Set(listAt(is, 'required'));
    if (side === 'request') {
      for (const name of after) if (!before.has(name)) found.push(`${place}.${String(name)}: now required`);
      return;
    }
    for (const name of before) {
      if (!after.has(name) && Object.hasOwn(fields, String(name))) {
        found.push(`${place}.${String(name)}: no longer always there`);
      }
    }
  }

  /** Alternatives are told apart by the constants of their fields, else by their whole text. */
  function armKey(root: unknown, arm: unknown): string {
    if (isObject(arm) && typeof arm.$ref === 'string') return arm.$ref;
    const constants = Object.entries(objectAt(deref(root, arm), 'properties'))
      .filter(([, field]) => isObject(field) && 'const' in field)
      .map(([name, field]) => `${name}=${JSON.stringify(isObject(field) ? field.const : undefined)}`);
    return constants.length > 0 ? constants.join(',') : JSON.stringify(arm);
  }

  function compareArms(was: Json, is: Json, key: string, place: string, side: Side): void {
    const arms = new Map(listAt(is, key).map((arm) => [armKey(current, arm), arm]));
    for (const arm of listAt(was, key)) {
      const name = armKey(released, arm);
      if (!arms.has(name)) found.push(`${place}: alternative ${name} removed`);
      else compareSchema(arm, arms.get(name), `${place}(${name})`, side);
    }
  }

  function compareContent(was: unknown, is: unknown, where: string, side: Side): void {
    const now = objectAt(is, 'content');
    for (const [media, body] of Object.entries(objectAt(was, 'content'))) {
      if (!Object.hasOwn(now, media)) found.push(`${where}: ${media} removed`);
      else compareSchema(objectAt(body, 'schema'), objectAt(now[media], 'schema'), where, side);
    }
  }

  function compareParameters(was: Json, is: Json, where: string): void {
    const keyOf = (p: unknown) => (isObject(p) ? `${String(p.in)} ${String(p.name)}` : '');
    const now = new Map(listAt(is, 'parameters').map((p) => [keyOf(p), p]));
    const before = new Map(listAt(was, 'parameters').map((p) => [keyOf(p), p]));
    for (const [name, parameter] of before) {
      if (!now.has(name)) found.push(`${where}: parameter ${name} removed`);
      else
        compareSchema(objectAt(parameter, 'schema'), objectAt(now.get(name), 'schema'), `${where} ${name}`, 'request');
    }
    for (const [name, parameter] of now) {
      const old = before.get(name);
      const wasRequired = isObject(old) && old.required === true;
      if (isObject(parameter) && parameter.required === true && !wasRequired) {
        found.push(`${where}: parameter ${name} now required`);
      }
    }
  }

  function compareOperation(was: Json, is: Json, where: string): void {
    compareParameters(was, is, where);
    const body = objectAt(is, 'requestBody');
    const oldBody = objectAt(was, 'requestBody');
    if (body.required === true && oldBody.required !== true) found.push(`${where}: body now required`);
    compareContent(oldBody, body, `${where} body`, 'request');
    const now = objectAt(is, 'responses');
    for (const [status, response] of Object.entries(objectAt(was, 'responses'))) {
      if (!Object.hasOwn(now, status)) found.push(`${where}: reply ${status} removed`);
      else compareContent(response, now[status], `${where} ${status}`, 'reply');
    }
  }

  const paths = objectAt(current, 'paths');
  for (const [path, item] of Object.entries(objectAt(released, 'paths'))) {
    if (!Object.hasOwn(paths, path)) {
      found.push(`${path}: path removed`);
      continue;
    }
    for (const [method, operation] of Object.entries(isObject(item) ? item : {})) {
      const where = `${method.toUpperCase()} ${path}`;
      const now = objectAt(paths[path], method);
      if (Object.keys(now).length === 0) found.push(`${where}: method removed`);
      else if (isObject(operation)) compareOperation(operation, now, where);
    }
  }
  // A plain JSON Schema: what we send.
  if (isObject(released) && !('paths' in released)) compareSchema(released, current, '$', 'reply');
  return found;
}
