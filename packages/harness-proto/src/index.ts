export * from './assert-never.js';
export * from './assignment.js';
export * from './commands.js';
export * from './events.js';
