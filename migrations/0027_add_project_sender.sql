-- Who sends the messages of a project's tasks, and who gets the answers, where a task does not say. Null: as the server is set up.
alter table project
  add column mail_from text,
  add column mail_reply_to text;
