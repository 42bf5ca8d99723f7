// A registered bot.

export type Verification = {
  mode: 'project_number' | 'endpoint_url' | 'key';
  audience: string | null;
  /** A URL, or a key set itself; null: the platform's own. */
  jwks: string | { keys: unknown[] } | null;
  /** In the mode `endpoint_url`: the account that sends the events of an add-on; absent: the platform's own. */
  service_account_email?: string;
  /** Whether the URL may lead to an address that is not public, because an operator has set it. */
  jwks_anywhere: boolean;
};

export type Command = { id: number; name: string; reply: string | null; agent_id: string | null };

export type BotSettings = {
  verification: Verification;
  agentId: string | null;
  welcomeText: string | null;
  commands: readonly Command[];
};

export type BotReference = { workspaceId: string; id: string };

export const toBotReference = (path: { workspace_id: string; bot_id: string }): BotReference => ({
  workspaceId: path.workspace_id,
  id: path.bot_id,
});

export type Bot = BotReference & BotSettings & { createdAt: Date; updatedAt: Date };
