-- Work that outlives the request that asked for it: inserted with the change that causes it, done by a worker of
-- its kind in any process. A leased job is one whose run_at lies ahead; it comes back when its worker dies.

create table jobs (
  id bigint generated always as identity primary key,
  kind text not null,
  payload jsonb not null,
  run_at timestamptz not null default now(),
  attempts integer not null default 0,
  last_error text,
  created_at timestamptz not null default now()
);

create index jobs_due on jobs (kind, run_at, id);
