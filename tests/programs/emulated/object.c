/* A shared object; KIND makes two of the same shape that compute otherwise. */
int value(int n)
{
    int sum = KIND;
    for (int i = 0; i < n; i++)
        sum = sum * 3 + i * KIND;
    return sum;
}
