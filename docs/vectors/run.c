/* Runs firstflight's vectors against the controller that it is linked with:
 *
 *   firstflight vectors --arms 'slowstart/reno(base=cwnd)/immediate' --transport quic --json vectors.json
 *   cc -o newreno run.c newreno.c && ./newreno vectors.json
 *
 * Every step of the file stands on a line of its own, which begins with `[`. */
#include "controller.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))
#define MAX_COLUMNS 64
#define NAME(name) #name,
static const char *const members[] = {"event", "now_ns", FIRSTFLIGHT_FIELDS(NAME)};
static const char *const words[] = {"handshake_rtt", "ready", "sent", "ack", "timer", "timeout", "spurious", "mss"};
static const char *const timeouts[] = {"rto", "rto_again", "persistent_congestion"};
static char *cells[MAX_COLUMNS];
static int columns, cwnd_column, member_of[MAX_COLUMNS]; /* -1: no field of an event */

/* Splits `["a",1,null]` at its commas; no text in it has one. */
static int split(char *line) {
    int count = 0;
    char *end = strrchr(line, ']');
    if (end) *end = 0;
    for (char *word = strtok(strchr(line, '[') + 1, ",\n"); word && count < MAX_COLUMNS; word = strtok(NULL, ",\n")) {
        while (*word == ' ') word++;
        if (*word == '"') word[strlen(word) - 1] = 0, word++;
        cells[count++] = word;
    }
    return count;
}
static int place(const char *word, const char *const *list, int count) {
    while (count-- && strcmp(word, list[count]));
    return count;
}
static uint64_t number(const char *cell) {
    int at = place(cell, timeouts, COUNT(timeouts));
    if (!strcmp(cell, "null")) return FIRSTFLIGHT_NONE;
    if (!strcmp(cell, "true")) return 1;
    return at >= 0 ? (uint64_t)at : strtoull(cell, NULL, 10);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) return fprintf(stderr, "which file?\n"), 2;
    static char line[65536];
    const struct firstflight_controller *table = firstflight_controller();
    struct firstflight_begin begin = {0};
    void *controller = NULL;
    unsigned long vectors = 0, steps = 0;
    while (fgets(line, sizeof line, file)) {
        char *found;
        if ((found = strstr(line, "\"columns\": ["))) {
            columns = split(found);
            for (int i = 0; i < columns; i++) member_of[i] = place(cells[i], members, COUNT(members));
            cwnd_column = place("cwnd", (const char *const *)cells, columns);
        } else if ((found = strstr(line, "\"mss\": "))) {
            begin.mss = strtoull(found + 7, NULL, 10), vectors++;
        } else if ((found = strstr(line, "\"initial_window\": "))) {
            begin.initial_window = strtoull(found + 18, NULL, 10);
        } else if ((found = strstr(line, "\"nxt\": "))) {
            begin.nxt = strtoull(found + 7, NULL, 10);
        } else if ((found = strstr(line, "\"now_ns\": "))) {
            begin.now_ns = strtoull(found + 10, NULL, 10);
        } else if (strstr(line, "\"steps\": [")) {
            if (controller) table->destroy(controller);
            controller = table->create(&begin);
        } else if (line[strspn(line, " ")] == '[') {
            union {
                struct firstflight_event event;
                uint64_t members[COUNT(members)];
            } row;
            for (int i = 0; i < COUNT(members); i++) row.members[i] = FIRSTFLIGHT_NONE;
            split(line);
            for (int i = 0; i < columns; i++)
                if (member_of[i] >= 0) row.members[member_of[i]] = number(cells[i]);
            row.event.kind = (uint64_t)place(cells[0], words, COUNT(words));
            table->tell(controller, &row.event), steps++;
            uint64_t cwnd = table->window(controller).cwnd, expected = number(cells[cwnd_column]);
            uint64_t off = cwnd > expected ? cwnd - expected : expected - cwnd;
            /* A packet or 1 %: differences add up, for nothing sets the controller right. */
            if (off > begin.mss && off > expected / 100)
                return printf("vector %lu, step %lu (%s): cwnd %" PRIu64 ", expected %" PRIu64 "\n", vectors, steps, cells[0],
                              cwnd, expected), 1;
        }
    }
    return printf("%lu vectors, %lu steps: every window within a packet or 1 %%\n", vectors, steps), vectors == 0;
}
