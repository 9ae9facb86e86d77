"""`agent-tt otel`: runs as spans of OpenTelemetry, sent to a collector."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import click

from agent_tt_tui.cli.marks import found_runs
from agent_tt_tui.cli.options import Options, common_options, runs_argument, write_json
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.interop.opentelemetry.following import FollowedRun
    from agent_tt.protocols import RunSource

_LOOK_SECONDS = 1.0


@click.command()
@runs_argument
@click.option(
    "--endpoint",
    metavar="URL",
    help="The collector, such as http://localhost:4318; else what OTEL_EXPORTER_OTLP_ENDPOINT says.",
)
@click.option("--content", is_flag=True, help="Send what was asked and answered, too.")
@click.option("--follow", is_flag=True, help="Go on until the runs are over.")
@common_options
def command(options: Options, runs: tuple[str, ...], *, endpoint: str | None, content: bool, follow: bool) -> None:
    """Send RUNs to an OpenTelemetry collector, as spans and metrics.

    Spans are named by the conventions for generative AI: an agent's invoke_agent has its chat and execute_tool below
    it. Without --content no prompts, answers, arguments and results are sent. The same run sent twice is the same
    spans; its metrics are sent when it is over. It needs the extra `otel`. Exit code 2 when the collector takes
    nothing.

    \b
    agent-tt otel refund-loop --endpoint http://localhost:4318
    agent-tt otel latest --follow --content
    --json: {runs: [{run, spans, over}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.interop.opentelemetry.following import FollowedRun
    from agent_tt.interop.opentelemetry.sending import metric_collector, span_collector

    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # what goes wrong is said once, at the end
    spans_to, metrics_to = span_collector(endpoint), metric_collector(endpoint)
    with options.source(*runs) as source:
        followed = [FollowedRun(run.id, spans_to, metrics_to, content=content) for run in found_runs(source, runs)]
        going_on = [each for each in followed if not each.send(source)]
        while going_on and follow:
            time.sleep(_LOOK_SECONDS)
            going_on = [each for each in going_on if not each.send(source)]
        _say(options, source, followed)


def _say(options: Options, source: RunSource, followed: list[FollowedRun]) -> None:
    said = [(source.run(each.id), each.sent) for each in followed]
    if options.as_json:
        write_json({"runs": [{"run": run.id, "spans": spans, "over": run.status != "running"} for run, spans in said]})
        return
    terminal = options.terminal()
    for run, spans in said:
        rest = ": it goes on, and what is open was not sent" if run.status == "running" else ""
        terminal.line(f"{terminal.safe(run.name)}: {counted(spans, 'span')} sent{rest}")
