// All experiments by name. Each experiment is defined in the source file of its subject, and listed in
// lab/experiment.cpp.
#pragma once

#include "lab/experiment.hpp"

namespace lab::experiments {

extern const Experiment n_implementations;
extern const Experiment n_granularity;
extern const Experiment n_tables;
extern const Experiment n_layout;
extern const Experiment n_persistent;
extern const Experiment n_overlap;
extern const Experiment n_baselines;

extern const Experiment g_schemes;
extern const Experiment g_tables;
extern const Experiment g_transfers;
extern const Experiment g_breakdown;

extern const Experiment p_threads;
extern const Experiment p_memory;
extern const Experiment p_streams;
extern const Experiment p_staging;
extern const Experiment p_pipeline;
extern const Experiment p_host_memory;
extern const Experiment p_modes;
extern const Experiment p_encryption;
extern const Experiment p_decryption;
extern const Experiment p_random_access;
extern const Experiment p_gpus;
extern const Experiment p_qkd;

extern const Experiment d_surfaces;
extern const Experiment d_model;
extern const Experiment d_occupancy;
extern const Experiment d_memory;

extern const Experiment h_reads;
extern const Experiment h_tables;
extern const Experiment h_ctr;
extern const Experiment h_overhead;
extern const Experiment h_rekeying;
extern const Experiment h_serial;
extern const Experiment h_mixing;
extern const Experiment h_modes;

extern const Experiment k_last_round;
extern const Experiment t_designs;
extern const Experiment f_dpf;

extern const Experiment w_worth;
extern const Experiment w_leakage;
extern const Experiment w_contenders;

}  // namespace lab::experiments
