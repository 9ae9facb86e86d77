"""The rows of conversations, calls and raw text, without a terminal."""

from dataclasses import replace

from agent_tt.model import AgentCode, Call, ErrorInfo, Run, Step
from agent_tt.providers.chat import conversation_in, message_of
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.calls.callview import CallContext, call_lines
from agent_tt_tui.viewmodel.calls.conversation import conversation_lines, turns_of
from agent_tt_tui.viewmodel.calls.source_excerpt import read_excerpt
from agent_tt_tui.viewmodel.values.highlight import highlighted
from agent_tt_tui.viewmodel.values.pieces import wrap
from agent_tt_tui.viewmodel.values.rawtext import RawText

RUN = Run("RUN000000001", "run", "failed", started_us=0)


def texts(lines):
    return ["".join(text for text, _ in (*line.lead, *line.pieces)).rstrip() for line in lines]


def search(number):
    asked = {"id": f"c{number}", "name": "search", "args": {"q": "refund"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "nothing"},
    ]


def shown_call(call, run=RUN, **context):
    facts = {"step": Step(3, "s", "ok"), "calls": [call], **context}
    return texts(call_lines(call, CallContext(run, **facts), 60, UNICODE))


def test_a_tool_call_and_its_result_are_one_turn_and_repeats_fold_but_for_first_and_last():
    items = [{"role": "user", "content": "Where is it?"}, *(m for n in range(18) for m in search(n))]
    turns = turns_of(items, new={35, 36})
    assert len(turns) == 19
    rows = texts(conversation_lines(turns, 70, UNICODE))
    assert rows[0].split() == ["user", "▎", "Where", "is", "it?"]
    assert '▸ search(q="refund")  → nothing' in rows[1]
    assert "┊ 16 more like it" in rows[2]
    assert rows[3].startswith("+ assistant")
    assert rows[3].endswith("≡ 18th time")
    assert rows[4].split() == ["+", "tool", "▎", "nothing"]
    assert len(texts(conversation_lines(turns, 70, UNICODE, {"alike1"}))) > 18


def test_calls_that_differ_only_far_into_a_long_argument_are_not_called_alike():
    def ask(end):
        return {"role": "assistant", "tool_calls": [{"id": end, "name": "f", "args": {"q": "x" * 500 + end}}]}

    rows = texts(conversation_lines(turns_of([ask("a"), ask("b"), ask("c"), ask("d")]), 70, UNICODE))
    assert not any("more like it" in row for row in rows)


def test_a_result_that_answers_another_call_is_not_taken_for_this_one():
    items = [search(1)[0], {"role": "tool", "tool_call_id": "other", "content": "late"}]
    assert [len(turn.results) for turn in turns_of(items)] == [0, 0]


def test_a_long_conversation_is_laid_out_from_its_end():
    items = [{"role": "user", "content": str(number)} for number in range(5_000)]
    rows = texts(conversation_lines(turns_of(items), 60, UNICODE))
    assert len(rows) == 121
    assert rows[0].strip() == "┊ 4,880 earlier"
    assert rows[-1].endswith("4999")


def test_messages_are_read_in_the_forms_of_providers_and_of_langchain():
    blocks = [{"type": "text", "text": "one"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]
    anthropic = message_of({"role": "assistant", "content": blocks})
    assert (anthropic.text, str(anthropic.calls[0])) == ("one", "f(a=1)")
    human = {"$type": "pydantic", "class": "langchain_core.messages.human:HumanMessage", "$v": {"content": "hi"}}
    assert message_of(human).role == "human"
    assert message_of({"type": "button", "content": "x"}) is None
    assert conversation_in({"a": 1, "chat": [{"role": "user", "content": "x"}]}) == ("chat",)
    assert conversation_in({"rows": [{"id": 1}]}) is None


def test_a_model_call_shows_what_it_saw_what_it_answered_and_the_tools_it_had():
    args = {"messages": [{"role": "user", "content": "Hi"}, *search(1)], "tools": ["search"]}
    call = Call(3, 1, "llm", "ask", "ok", args=args, result={"message": search(2)[0]}, meta={"model": "rules-1"})
    rows = shown_call(call)
    assert rows[0].startswith("◆ rules-1")
    assert "WHAT THE MODEL SAW  3 messages, 2 new" in rows
    assert rows.index("WHAT IT ANSWERED") < rows.index("TOOLS OFFERED  1")
    assert rows[-1].strip() == "search"


def test_a_call_without_an_answer_in_a_run_that_is_over_says_that_its_outcome_is_unknown():
    pending = Call(3, 1, "tool", "send", "pending", "write", args={"to": "bob"})
    assert any("outcome unknown" in row for row in shown_call(pending))
    foreign = Run("RUN000000001", "run", "unknown", started_us=0)
    assert any("no answer to it is recorded" in row for row in shown_call(pending, foreign))
    running = Run("RUN000000001", "run", "running", started_us=0)
    assert any("not yet" in row for row in shown_call(pending, running))


def test_a_denied_tool_says_so_and_a_failed_one_why_with_its_traceback_folded():
    denied = Call(3, 1, "tool", "pay", "denied", "write")
    fork = Run("FORK00000001", "run/fork-1", "succeeded", 0, parent=RUN.id, fork_step=2)
    assert any("denied by this fork" in row for row in shown_call(denied, fork))
    for rows in (
        shown_call(denied),  # nothing was forked
        shown_call(denied, fork, step=Step(3, "s", "ok", inherited=True)),  # another fork did it
        shown_call(replace(denied, meta={"answered": {"word": "refuse", "by": "terminal"}}), fork),  # a person did
    ):
        assert any(row.split() == ["denied", "it", "did", "not", "run"] for row in rows)
    error = ErrorInfo("builtins:TimeoutError", "too slow", "Traceback\n  line 1\n")
    failed = Call(3, 1, "tool", "pay", "error", "write", error=error)
    rows = shown_call(failed)
    assert "  ✗ TimeoutError: too slow" in rows
    assert rows[-1].strip() == "▸ traceback"
    opened = call_lines(failed, CallContext(RUN, None, [failed]), 60, UNICODE, {"traceback"})
    assert texts(opened)[-1].strip() == "line 1"


def test_a_repeated_call_names_the_step_that_it_repeats():
    call = Call(3, 1, "tool", "search", "ok", "read", args={"q": 1}, result=[])
    rows = shown_call(call, step=Step(3, "s", "ok", repeat_of=2))
    assert any("same question and same answer as step 2" in row for row in rows)


def test_the_code_around_a_call_is_read_only_from_plain_python_files(tmp_path):
    (tmp_path / "agent.py").write_text("".join(f"line_{n} = {n}\n" for n in range(1, 9)))
    (tmp_path / "secret.txt").write_text("a\nb\nc\n")
    run = Run("RUN000000001", "run", "ok", started_us=0, code=AgentCode(root=str(tmp_path)))

    def excerpt(file, line):
        return read_excerpt(run, Call(1, 1, "tool", "f", "ok", meta={"file": file, "line": line}))

    assert excerpt("agent.py", 5).lines == ("line_3 = 3", "line_4 = 4", "line_5 = 5", "line_6 = 6")
    assert excerpt("agent.py", 99) is None
    assert excerpt("gone.py", 1) is None
    assert excerpt("secret.txt", 1) is None
    call = Call(1, 1, "tool", "f", "ok", meta={"file": "agent.py", "line": 5})
    rows = shown_call(call, run, excerpt=read_excerpt(run, call))
    assert "  agent.py:5  as the file is now" in rows
    assert "      5  line_5 = 5" in rows


def test_raw_text_breaks_long_lines_and_finds_each_row():
    text = RawText.broken(["ab" * 10, "", "漢字" * 5], 8)
    rows = [text.row(index) for index in range(text.rows)]
    assert [start for _, start in rows] == [0, 8, 16, 0, 0, 4, 8]
    assert RawText.of({"a": [1]}).lines == ["{", '  "a": [', "    1", "  ]", "}"]


def text_of(pieces):
    return "".join(text for text, _ in pieces)


def test_highlighting_keeps_every_character_but_those_that_are_unsafe():
    for line in ['  "key": "a \\" b", -1.5e3, null', '"cut off', "plain", ""]:
        assert [text_of(pieces) for pieces in highlighted(line, "json")] == [line]
    code = "if x == 'a # b':  # why\n\n    return None"
    assert [text_of(pieces) for pieces in highlighted(code, "python")] == code.split("\n")
    assert "\x1b" not in text_of(highlighted("\x1b[2J", "json")[0])


def test_keys_and_keywords_stand_out_and_comments_step_back():
    assert ('"key"', "model") in highlighted('  "key": "value"', "json")[0]
    first, second = highlighted("for x in y:  # why\n    return None", "python")
    assert ("for", "model") in first
    assert ("# why", "muted") in first
    assert second == [("    ", "text"), ("return", "model"), (" None", "text")]


def test_rows_below_the_first_may_be_wider_and_nothing_is_lost():
    for text in ("one two three four five six", "alongwordthatisbroken and more", ""):
        rows = ["".join(said for said, _ in row) for row in wrap([(text, "text")], 5, 12)]
        assert "".join(rows) == text
        assert all(len(row.rstrip()) <= (12 if at else 5) for at, row in enumerate(rows))
        assert len(rows) <= len(list(wrap([(text, "text")], 5)))


def test_wrapping_loses_nothing_and_keeps_to_the_width():
    pieces = [("one two three four", "text"), (" fivesixseveneight", "added")]
    rows = list(wrap(pieces, 9))
    assert "".join(text for row in rows for text, _ in row) == "one two three four fivesixseveneight"
    assert all(len("".join(text for text, _ in row).rstrip()) <= 9 for row in rows)


def test_an_arrow_goes_to_the_next_row_with_what_it_leads_to():
    for arrow in "→>":
        pieces = [("old words", "removed"), (f" {arrow} ", "muted"), ("newwords", "added")]
        assert ["".join(text for text, _ in row).rstrip() for row in wrap(pieces, 13)] == [
            "old words",
            f"{arrow} newwords",
        ]
        rows = ["".join(text for text, _ in row).rstrip() for row in wrap(pieces, 8)]
        assert "".join(rows).replace(" ", "") == f"oldwords{arrow}newwords"
        assert all(len(row) <= 8 for row in rows)


def test_a_call_that_is_wider_than_a_row_begins_beside_its_arrow():
    def rows_of(call, columns):
        rows = wrap([("→ ", "muted"), (call, "text")], columns)
        return ["".join(text for text, _ in row).rstrip() for row in rows]

    assert rows_of('search_docs(query="refund policy")', 26) == ["→ search_docs(", 'query="refund policy")']
    assert rows_of("x" * 20, 12) == ["→ " + "x" * 10, "x" * 10]
    assert rows_of("xx", 2) == ["→", "xx"]


def test_what_a_model_thought_is_read_as_text_and_marked() -> None:
    said = message_of(
        {"type": "ai", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]}
    )
    assert said is not None
    assert said.text == "[thinking] hm\nyes"
