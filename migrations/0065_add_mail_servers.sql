-- The mail server of a project, such as smtp://shop:{{secret.SMTP_PASSWORD}}@mail.example.com:587: its password is always a reference to a
-- secret. Null: the server that nodes are set up with. Builds that do not know the column send through that one.
alter table project add column mail_server text;
