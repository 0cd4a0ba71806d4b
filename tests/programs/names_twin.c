/* The other variable called `twice`: see names.c. */
static volatile int twice = 1;

void write_twin(int value)
{
    twice = value;
}
