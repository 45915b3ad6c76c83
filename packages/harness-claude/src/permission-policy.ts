// What the agent may do without being asked, said once in the log of each session. Every allowance
// is a permission rule in the settings file we write, or a reply to a request that we log.

/** Rules of the settings file: the CLI's own tools, all of them named. */
export const ALLOWED_TOOLS = [
  'Agent',
  'Bash',
  'BashOutput',
  'Edit',
  'EnterPlanMode',
  'EnterWorktree',
  'ExitWorktree',
  'Glob',
  'Grep',
  'KillShell',
  'LS',
  'LSP',
  'ListAgents',
  'ListMcpResourcesTool',
  'Monitor',
  'MultiEdit',
  'NotebookEdit',
  'Read',
  'ReadMcpResourceTool',
  'SendMessage',
  'Skill',
  'Task',
  'TaskCreate',
  'TaskGet',
  'TaskList',
  'TaskOutput',
  'TaskStop',
  'TaskUpdate',
  'TodoWrite',
  'ToolSearch',
  'WebFetch',
  'WebSearch',
  'Write',
] as const;

export const PERMISSION_POLICY = `Allowed by rule, without asking: ${ALLOWED_TOOLS.join(
  ', ',
)}. Any other tool the agent asks for is allowed by a reply that is logged. Questions go to the user.`;
