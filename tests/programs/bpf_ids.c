// Numbers of all BPF programs and maps that there are, one a line: "prog 3".
// For the superuser.
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void list(int command, const char *kind)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    while (syscall(SYS_bpf, command, &attr, sizeof attr) == 0) {
        printf("%s %u\n", kind, attr.next_id);
        attr.start_id = attr.next_id;
    }
}

int main(void)
{
    list(BPF_PROG_GET_NEXT_ID, "prog");
    list(BPF_MAP_GET_NEXT_ID, "map");
    return 0;
}
