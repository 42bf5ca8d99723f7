-- Sums of usage events by subject and day are made once a day is over (src/usage/store/finished-days.ts). Until then a day is
-- summed from its hours: each stored batch updated a row for each of its subjects twice.
--
-- Sums by subject that a process of the version before shows of the current day lack what is stored from now on.

DROP TRIGGER days_inserted ON usage_by_subject;
DROP TRIGGER days_updated ON usage_by_subject;
DROP FUNCTION usage_by_subject_inserted();
DROP FUNCTION usage_by_subject_updated();

-- A single row: the rows of usage_by_subject_days are complete for all days before this one (UTC).
CREATE TABLE usage_finished_days (until timestamp(0) NOT NULL);

-- The triggers kept the sums of the days before; those of the current day are replaced when it is over.
INSERT INTO usage_finished_days SELECT date_trunc('day', now() AT TIME ZONE 'UTC');
