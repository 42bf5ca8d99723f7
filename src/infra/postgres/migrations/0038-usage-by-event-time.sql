-- Sums of usage events by the time at which they happened (src/usage/store/summaries.ts).
CREATE INDEX usage_events_by_event_time ON usage_events (workspace_id, time);
