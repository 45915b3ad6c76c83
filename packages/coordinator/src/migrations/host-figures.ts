// What a host counts and a server shows among the figures.

export const hostFiguresAddition = `
-- live text that the running host process left out, since it started
alter table hosts add column chunks_dropped bigint not null default 0;
`;
