-- A definition may be hundreds of kilobytes long, nearly all of it in its action, and to open one takes milliseconds. Whoever needs to know when
-- runs are due, or what a list shows, reads this instead: the definition without what is long. It is null where the definition is short, and holds
-- only for the version that it names: a node of an earlier release changes a definition without it.
alter table task add column brief json;
alter table task_version add column brief json;

-- What is told of a definition in brief, or all of it where there is nothing briefer.
create function definition_in_brief(definition json, brief json, version integer) returns json
language sql immutable parallel safe as $$
  select case when (brief ->> 'version')::integer = version then brief else definition end
$$;

-- How long a definition is as text, without opening it: only what is stored compressed, and is not told in brief, has to be.
create function definition_bytes(definition json, brief json, version integer) returns integer
language sql stable parallel safe as $$
  select case when (brief ->> 'version')::integer = version then (brief ->> 'bytes')::integer
              when pg_column_compression(definition) is null then pg_column_size(definition)
              else octet_length(definition::text) end
$$;
