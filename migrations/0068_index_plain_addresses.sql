-- Finds addresses of Slack messages whose tokens are stored in clear. Once they are stored as secrets, both indexes are empty.
create index task_with_plain_address on task (id)
  where action_type = 'slack'
    and definition #>> '{action,url}' ~ '^[^/]*//[^/?#]*[/?](.*[/?&=])?[A-Za-z0-9._~-]{16,}([/?&#]|$)';
create index task_version_with_plain_address on task_version (task_id, version)
  where definition #>> '{action,type}' = 'slack'
    and definition #>> '{action,url}' ~ '^[^/]*//[^/?#]*[/?](.*[/?&=])?[A-Za-z0-9._~-]{16,}([/?&#]|$)';
