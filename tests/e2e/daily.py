"""The jobs that `make test` runs: one for each promise and each way through the program, by file.

All other tests of this folder are `slow`: `make test-slow` runs them, and each check of a change another part of them
(`make test-part`). A name stands for all examples of a test, `name[example]` for one of them. A job costs ten seconds
of a processor, so a new test of this folder takes the place of another one here, or is slow.
"""

from __future__ import annotations

from collections.abc import Mapping

DAILY: Mapping[str, tuple[str, ...]] = {
    "test_check_confined.py": ("test_without_rights",),
    "test_check_meeting.py": ("test_three_nodes_in_step_leave_the_port_to_the_job",),
    "test_desync.py": (
        "test_a_fault_with_a_silent_phase_is_told_before_the_hang[skip]",
        "test_what_is_healthy_or_cannot_be_told_apart_is_silent[replaced]",
    ),
    "test_dump.py": (
        "test_a_cycle_is_proven_and_secrets_stay_where_they_are",
        "test_what_is_no_job_is_one_clear_line",
    ),
    "test_dumps.py": (
        "test_frames_and_all[missing]",
        "test_without_frames[missing]",
        "test_the_matrix_is_right_for_gloo[missing]",
        "test_the_synthetic_dumps_are_written_as_torch_writes_them[missing]",
    ),
    "test_ends.py": ("test_an_end_is_told_right_and_is_the_job_s_own[term-ranks-hung]",),
    "test_fixtures.py": (
        "test_lint_sees_it_coming",
        # a case of each kind of evidence that decides a verdict; a cycle of receives is in test_without_ptrace.py, a
        # collective that some ranks left out in test_nodes.py
        *(
            f"test_broken_gets_its_verdict[{name}]"
            for name in ("uneven-inputs", "rank-died", "lock-wait", "slow-host-work")
        ),
        # the cure that is the most like what a watchdog could take for a hang
        "test_fixed_ends_and_is_left_alone[slow-checkpoint]",
    ),
    "test_harm.py": (
        "test_the_harms_that_were_asked_for_have_a_fixture",
        "test_harm_shows_and_its_cure_takes_it_away[ragged-last-batch-broken]",
    ),
    "test_healthy.py": (
        "test_the_list_is_whole",
        "test_hasty_watch_is_never_sure[long_step]",
        "test_slow_rank_is_named_and_excused[slow_saving]",
    ),
    "test_live_line.py": (
        "test_a_watch_in_the_background_draws_nothing",
        "test_ranks_steps_and_who_is_behind",
    ),
    "test_nodes.py": ("test_all_nodes_say_the_same[rank-conditional-collective]",),
    "test_parts.py": ("test_the_list_is_whole", "test_a_part_is_proven_while_the_rest_moves[busy_world]"),
    "test_probe_endings.py": (
        "test_a_normal_end",
        "test_an_exit_of_failure_and_its_place_are_kept",
        "test_the_exception_behind_an_exit_is_kept[exit_in_except]",
    ),
    "test_probe_jobs.py": (
        "test_ranks_made_by_multiprocessing[fork]",
        "test_without_a_run_directory_the_job_runs_as_alone[unwritable]",
    ),
    "test_repro_command.py": (
        "test_a_case_for_the_cpu_is_not_run_on_nccl",
        "test_a_machine_without_a_gpu_says_so_in_one_line",
        "test_a_package_that_is_missing_is_named_in_one_line",
        "test_a_run_shows_its_verdict_and_passes",
    ),
    "test_secrets.py": ("test_no_secret_leaves_the_job_and_nothing_is_open_to_others",),
    "test_watch_acts.py": (
        "test_a_healthy_report_is_written_at_the_end",
        "test_a_job_that_moves_on_after_a_report_is_said_to_have_resumed",
        "test_our_own_failure_is_one_line_and_the_jobs_status_stays[tick]",
        "test_stop_ends_every_process_of_the_job",
        "test_the_hang_command_gets_the_report_once_and_its_failure_matters_to_nobody",
    ),
    "test_watch_job_control.py": ("test_ctrl_z_stops_the_job_and_fg_continues_it",),
    "test_watch_lint.py": (
        "test_a_command_line_without_a_script_is_said",
        "test_findings_are_told_before_the_job_which_runs_and_keeps_its_status",
    ),
    "test_watch_never_harms.py": (
        "test_the_programs_are_there",
        "test_bad_input_gets_one_line",
        "test_status_and_output_of_a_plain_program",
        "test_death_by_signal_is_told_as_a_shell_tells_it",
        "test_signals_are_forwarded_once",
        "test_a_signal_that_is_ignored_stays_so",
        "test_ctrl_c_in_a_terminal_reaches_the_job_once",
        "test_interrupting_a_distributed_job_ends_all_of_it",
        "test_no_place_for_pages",
        "test_a_full_disk_under_the_bundle",
        "test_a_hang_is_still_told_without_py_spy",
        "test_the_job_outlives_a_killed_supervisor",
    ),
    "test_without_ptrace.py": ("test_same_code_and_culprits_and_a_proof[p2p-deadlock-absent]",),
    # text alone, and one job
    "variants/test_disguised.py": ("test_a_disguise_is_another_text",),
    "variants/test_forms.py": (
        "test_a_form_is_another_program_with_the_same_fault",
        "test_a_disguise_is_started_with_its_ranks_turned",
        "test_other_ranks_are_to_blame_where_ranks_are_not_told_by_number",
    ),
}
