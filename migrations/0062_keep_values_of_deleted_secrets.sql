-- The values of a secret that was deleted stay for as long as those that were replaced: a worker may still report about an
-- attempt that was given one, and it is taken out of that report.
alter table secret_version drop constraint secret_version_belongs_to_a_secret;
alter table secret_version add constraint secret_version_project_id_fkey foreign key (project_id) references project (id);
