/** The function that stores one change for servers of the earlier release. The first two migrations created it; it is never changed. */
export const PUT_CHANGE = `FUNCTION put_change(change json) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    given record;
    refusal text;
  BEGIN
    -- Parsed once: some changes hold many megabytes.
    SELECT * INTO given FROM json_to_record(change) AS one (kind text, id text, session text, message text, data text,
      before text, directory text, parent text, title text, updated bigint, unfinished boolean, ids json, state text);
    CASE given.kind
    WHEN 'session' THEN
      IF given.before IS NOT NULL THEN
        PERFORM 1 FROM session WHERE id = given.id AND data = given.before AND NOT is_hidden;
        IF NOT FOUND THEN refusal := 'stale'; END IF;
      END IF;
      IF refusal IS NULL THEN
        INSERT INTO session (id, directory, parent_id, folded_title, updated, is_hidden, data)
        VALUES (given.id, given.directory, given.parent, given.title, given.updated, false, given.data)
        ON CONFLICT (id) DO UPDATE SET directory = excluded.directory, parent_id = excluded.parent_id,
          folded_title = excluded.folded_title, updated = excluded.updated, is_hidden = false, data = excluded.data;
      END IF;
    WHEN 'session-begun' THEN
      DELETE FROM session WHERE id = given.id AND is_hidden;
      INSERT INTO session (id, directory, parent_id, folded_title, updated, is_hidden, data)
      VALUES (given.id, given.directory, given.parent, given.title, given.updated, true, given.data)
      ON CONFLICT (id) DO NOTHING;
      IF NOT FOUND THEN refusal := 'session'; END IF;
    WHEN 'session-given-up' THEN
      DELETE FROM session WHERE id = given.id AND is_hidden;
    WHEN 'session-removed' THEN
      DELETE FROM event WHERE session_id = given.id;
      DELETE FROM session WHERE id = given.id;
    WHEN 'message' THEN
      INSERT INTO message (id, session_id, is_unfinished, data)
      SELECT given.id, given.session, given.unfinished, given.data
      WHERE EXISTS (SELECT 1 FROM session WHERE id = given.session)
      ON CONFLICT (id) DO UPDATE SET is_unfinished = excluded.is_unfinished, data = excluded.data
      WHERE message.session_id = excluded.session_id;
      IF NOT FOUND THEN refusal := 'message'; END IF;
    WHEN 'messages-removed' THEN
      DELETE FROM message WHERE session_id = given.session
        AND id IN (SELECT value FROM json_array_elements_text(given.ids));
    WHEN 'parts-removed' THEN
      DELETE FROM part WHERE id IN (SELECT value FROM json_array_elements_text(given.ids))
        AND message_id IN (SELECT message.id FROM message WHERE session_id = given.session);
    WHEN 'part' THEN
      INSERT INTO part (id, message_id, data) SELECT given.id, given.message, given.data
      WHERE EXISTS (SELECT 1 FROM message WHERE id = given.message AND session_id = given.session)
      ON CONFLICT (id) DO UPDATE SET data = excluded.data WHERE part.message_id = excluded.message_id;
      IF NOT FOUND THEN refusal := 'part'; END IF;
    WHEN 'part-still' THEN
      PERFORM 1 FROM part JOIN message ON message.id = part.message_id
      WHERE part.id = given.id AND part.message_id = given.message AND message.session_id = given.session;
      IF NOT FOUND THEN refusal := 'part'; END IF;
    WHEN 'output' THEN
      INSERT INTO output (part_id, session_id, data) SELECT given.id, given.session, given.data
      WHERE EXISTS (SELECT 1 FROM part JOIN message ON message.id = part.message_id
        WHERE part.id = given.id AND message.session_id = given.session)
      ON CONFLICT (part_id) DO UPDATE SET data = excluded.data;
      IF NOT FOUND THEN refusal := 'output'; END IF;
    WHEN 'answer' THEN
      IF given.state = 'ended' THEN
        DELETE FROM owed WHERE message_id = given.id AND session_id = given.session;
      ELSE
        INSERT INTO owed (message_id, session_id, is_begun) SELECT given.id, given.session, given.state = 'begun'
        WHERE EXISTS (SELECT 1 FROM message WHERE id = given.id AND session_id = given.session)
        ON CONFLICT (message_id) DO UPDATE SET is_begun = excluded.is_begun;
        IF NOT FOUND THEN refusal := 'message'; END IF;
      END IF;
    END CASE;
    IF refusal IS NOT NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'GH001', MESSAGE = refusal;
    END IF;
  END $$;
`;

/**
 * How servers of the earlier release commit while a rolling update replaces them: all of them one after the other.
 * Commits a group of tasks in one round trip, which is most of the time that a commit takes. The group is stored as a whole
 * or not at all, and once: sent again under its batch number, it gets the same reply. A task that refers to a missing row is
 * rolled back alone. The reply holds for each task the ids of its events, or why it was refused.
 */
export const COMMIT_TASKS = `
  -- The given id if it sorts after the last one, else a changed one that does.
  CREATE FUNCTION id_after(given_id text, last_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN given_id > last_id COLLATE "C" THEN given_id ELSE
      left(given_id, 4) || lpad(to_hex(('x' || lpad(substr(last_id, 5, 12), 16, '0'))::bit(64)::bigint + 1), 12, '0') || substr(given_id, 17)
    END
  $$;

  CREATE FUNCTION commit_tasks(own_id text, number bigint, tasks json) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    last_id text;
    first_id text;
    known record;
    task json;
    drafted json;
    ids text[];
    answers json[] := '{}';
    answer text;
  BEGIN
    SELECT newest INTO STRICT last_id FROM event_mark FOR UPDATE;
    SELECT batch, result INTO known FROM server WHERE id = own_id FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- Sent again, or so late that a later group was stored: the server has given this one up.
    IF known.batch >= number THEN RETURN known.result; END IF;
    first_id := last_id;
    FOR task IN SELECT value FROM json_array_elements(tasks) LOOP
      BEGIN
        IF task->>'under' IS NOT NULL THEN
          -- Locked: a server that takes over waits for this commit, and sees it.
          PERFORM 1 FROM ticket WHERE seq = (task->>'under')::bigint FOR SHARE;
          IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = 'GH001', MESSAGE = 'lease'; END IF;
        END IF;
        PERFORM put_change(value) FROM json_array_elements(task->'changes');
        ids := '{}';
        FOR drafted IN SELECT value FROM json_array_elements(task->'events') LOOP
          last_id := id_after(drafted->>'id', last_id);
          ids := ids || last_id;
          INSERT INTO event (id, session_id, directory, data)
          VALUES (last_id, drafted->>'session', drafted->>'directory', drafted->>'data');
        END LOOP;
        answers := answers || to_json(ids);
      EXCEPTION WHEN SQLSTATE 'GH001' THEN
        answers := answers || json_build_object('refused', SQLERRM);
      END;
    END LOOP;
    answer := json_build_object('after', first_id, 'tasks', to_json(answers))::text;
    -- Counts as a heartbeat, which may have waited for this row.
    UPDATE server SET batch = number, result = answer, seen_at = clock_timestamp() WHERE id = own_id;
    IF last_id > first_id COLLATE "C" THEN
      UPDATE event_mark SET newest = last_id;
      IF EXISTS (SELECT 1 FROM server WHERE id <> own_id) THEN
        PERFORM pg_notify(current_schema(), json_build_object('kind', 'events', 'from', own_id)::text);
      END IF;
    END IF;
    RETURN answer;
  END $$;
`;
