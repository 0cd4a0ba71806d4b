create table a(id integer primary key, word text, n real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 20000)
insert into a select i, printf('w%d', i * 7919 % 10007), i * 0.5 from c;
create index w on a(word);
select count(*), sum(n), min(word), max(word) from a;
select word, count(*) from a group by word having count(*) > 1 order by 2 desc, 1 limit 5;
select a.id, b.id from a join a b on a.word = b.word and a.id < b.id order by 1, 2 limit 5;
update a set n = n * 2 where word like 'w1%';
delete from a where id % 3 = 0;
select count(*), round(sum(n), 2) from a;
select group_concat(word, '|') from (select word from a where n between 100 and 110 order by word);
with recursive fib(a, b) as (values(0, 1) union all select b, a + b from fib where b < 1000000000) select max(a) from fib;
vacuum;
pragma integrity_check;
